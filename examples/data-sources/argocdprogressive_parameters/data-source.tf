# The clusters that Argo CD knows by the label env, and the directories of a repository for each: what
# a plan shows of them is what its apply uses, whatever is registered or pushed in between.
data "argocdprogressive_parameters" "clusters" {
  go_template = true

  generators = [{ matrix = { generators = [
    { clusters = { selector = { match_expressions = [{ key = "env", operator = "Exists" }] } } },
    { git = {
      repo_url    = "https://github.com/infra-team/cluster-deployments.git"
      revision    = "main"
      directories = [{ path = "apps/*" }, { path = "apps/legacy", exclude = true }]
    } },
  ] } }]
}

resource "argocdprogressive_applicationset" "apps" {
  name = "apps"

  spec = {
    go_template         = true
    go_template_options = ["missingkey=error"]
    generators          = [{ list = { elements = data.argocdprogressive_parameters.clusters.parameters } }]

    strategy = {
      type = "RollingSync"
      rolling_sync = { steps = [
        { match_expressions = [{ key = "env", operator = "In", values = ["dev"] }] },
        { match_expressions = [{ key = "env", operator = "NotIn", values = ["dev"] }], max_update = "25%" },
      ] }
    }

    template = {
      metadata = {
        name   = "{{.name}}-{{.path.basename}}"
        labels = { env = "{{.metadata.labels.env}}" }
      }
      spec = {
        project = "default"
        source = {
          repo_url        = "https://github.com/infra-team/cluster-deployments.git"
          target_revision = "main"
          path            = "{{.path.path}}"
        }
        destination = {
          server    = "{{.server}}"
          namespace = "{{.path.basename}}"
        }
      }
    }
  }
}
