# A guestbook in three environments, rolled out one after the other: dev, staging, then prod,
# where one Application changes at a time.

terraform {
  required_providers {
    argocdprogressive = { source = "argocdprogressive/argocdprogressive" }
  }
}

variable "kubeconfig" {
  description = "Path of the kubeconfig of the cluster that Argo CD runs in."
  type        = string
}

variable "repo_url" {
  description = "Git repository with one folder for each Application under envs/."
  type        = string
}

provider "argocdprogressive" {
  namespace  = "argocd"
  kubernetes = { config_path = var.kubeconfig }
}

resource "argocdprogressive_applicationset" "guestbook" {
  name = "guestbook"

  spec = {
    go_template         = true
    go_template_options = ["missingkey=error"]

    generators = [{ list = { elements = [
      { name = "dev", env = "dev" },
      { name = "staging", env = "staging" },
      { name = "prod-eu", env = "prod" },
      { name = "prod-us", env = "prod" },
    ] } }]

    strategy = {
      type           = "RollingSync"
      deletion_order = "Reverse"
      rolling_sync = { steps = [
        { match_expressions = [{ key = "env", operator = "In", values = ["dev"] }] },
        { match_expressions = [{ key = "env", operator = "In", values = ["staging"] }] },
        { match_expressions = [{ key = "env", operator = "In", values = ["prod"] }], max_update = "1" },
      ] }
    }

    template = {
      metadata = {
        name   = "guestbook-{{.name}}"
        labels = { env = "{{.env}}" }
      }
      spec = {
        project = "default"
        source = {
          repo_url        = var.repo_url
          target_revision = "main"
          path            = "envs/{{.name}}"
        }
        destination = {
          server    = "https://kubernetes.default.svc"
          namespace = "guestbook-{{.name}}"
        }
        sync_policy = { sync_options = ["CreateNamespace=true"] }
      }
    }
  }

  rollout = { min_healthy_time = "2s" }
}
