import {
  to = argocdprogressive_applicationset.guestbook
  identity = {
    namespace = "argocd"
    name      = "guestbook"
  }
}
