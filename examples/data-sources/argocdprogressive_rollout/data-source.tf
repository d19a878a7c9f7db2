# Where a set stands: in a configuration of its own also while it is rolled out elsewhere.
data "argocdprogressive_rollout" "guestbook" {
  name = "guestbook"
}

# Markdown with a timeline, for a job: terraform output -raw summary >> "$GITHUB_STEP_SUMMARY"
output "summary" {
  value = data.argocdprogressive_rollout.guestbook.summary
}

# What is not at its target, and why.
output "not_healthy" {
  value = {
    for name, a in data.argocdprogressive_rollout.guestbook.applications :
    name => "${a.status}: ${coalesce(a.message, "no message")}" if a.status != "Healthy"
  }
}

# How long each step of the last rollout took, in seconds.
output "seconds" {
  value = try({ for s in data.argocdprogressive_rollout.guestbook.history[0].steps : s.step => s.duration_seconds }, {})
}

# A warning at every plan while the last rollout is not finished.
check "rollout" {
  assert {
    condition     = !contains(["incomplete", "interrupted"], data.argocdprogressive_rollout.guestbook.state)
    error_message = "The last rollout of guestbook has not been finished: ${coalesce(try(data.argocdprogressive_rollout.guestbook.history[0].reason, null), "see its summary")}."
  }
}
