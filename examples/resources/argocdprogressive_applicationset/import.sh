# namespace/name, of a set of this provider or of an ApplicationSet in the cluster, which the next apply takes over.
terraform import argocdprogressive_applicationset.guestbook argocd/guestbook
