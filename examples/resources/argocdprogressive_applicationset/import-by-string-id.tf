import {
  to = argocdprogressive_applicationset.guestbook
  id = "argocd/guestbook"
}
