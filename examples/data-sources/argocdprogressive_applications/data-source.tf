# What an ApplicationSet would give, without applying it.
data "argocdprogressive_applications" "guestbook" {
  name     = "guestbook"
  manifest = file("${path.module}/guestbook.yaml")
}

# Which Application is in which step.
output "waves" {
  value = data.argocdprogressive_applications.guestbook.waves
}

# The Applications for a review, in one file.
resource "terraform_data" "rendered" {
  input = join("---\n", values(data.argocdprogressive_applications.guestbook.yaml))
}

# A rule of your own, checked at every plan.
check "production_is_pinned" {
  assert {
    condition = alltrue([
      for a in data.argocdprogressive_applications.guestbook.applications :
      a.object.spec.source.targetRevision != "HEAD" if strcontains(a.step, "env-prod")
    ])
    error_message = "Applications in production must name a revision."
  }
}
