terraform {
  required_providers {
    argocdprogressive = {
      source = "argocdprogressive/argocdprogressive"
    }
  }
}

# The cluster in which Argo CD's Applications live.
provider "argocdprogressive" {
  namespace = "argocd"

  kubernetes = {
    config_path    = "~/.kube/config"
    config_context = "prod-hub"
  }
}
