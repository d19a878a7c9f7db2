# Three environments, rolled out one after the other: dev at once, then qa, which a person
# releases by syncing it, then production, ten percent at a time.
resource "argocdprogressive_applicationset" "guestbook" {
  name = "guestbook"

  spec = {
    go_template         = true
    go_template_options = ["missingkey=error"]

    generators = [{ list = { elements = [
      { cluster = "engineering-dev", url = "https://1.2.3.4", env = "env-dev", replicas = 1 },
      { cluster = "engineering-qa", url = "https://2.4.6.8", env = "env-qa", replicas = 1 },
      { cluster = "engineering-prod", url = "https://9.8.7.6/", env = "env-prod", replicas = 3 },
    ] } }]

    strategy = {
      type           = "RollingSync"
      deletion_order = "Reverse"
      rolling_sync = { steps = [
        { match_expressions = [{ key = "envLabel", operator = "In", values = ["env-dev"] }] },
        { match_expressions = [{ key = "envLabel", operator = "In", values = ["env-qa"] }], max_update = 0 },
        { match_expressions = [{ key = "envLabel", operator = "In", values = ["env-prod"] }], max_update = "10%" },
      ] }
    }

    template = {
      metadata = {
        name   = "{{.cluster}}-guestbook"
        labels = { envLabel = "{{.env}}" }
      }
      spec = {
        project = "default"
        source = {
          repo_url        = "https://github.com/infra-team/cluster-deployments.git"
          target_revision = "main"
          path            = "guestbook/{{.cluster}}"
          helm = {
            value_files   = ["values.yaml", "values-{{.env}}.yaml"]
            values_object = { replicaCount = "{{.replicas}}" }
          }
        }
        destination = {
          server    = "{{.url}}"
          namespace = "guestbook"
        }
        sync_policy = {
          sync_options = ["CreateNamespace=true"]
          retry        = { limit = 2 }
        }
      }
    }
  }

  # What Argo CD has no field for.
  rollout = {
    app_timeout      = "10m"
    min_healthy_time = "10s"
    max_deletions    = 1
  }

  timeouts = {
    create = "2h"
    update = "2h"
    delete = "30m"
  }
}

# The waves of a plan, for other configurations or for a check.
output "guestbook_waves" {
  value = argocdprogressive_applicationset.guestbook.waves
}
