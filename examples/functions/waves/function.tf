# A test of an ApplicationSet that needs no cluster, for `terraform test`: guestbook.tftest.hcl
#
#   run "production_comes_last" {
#     command = plan
#     assert {
#       condition     = keys(output.waves)[length(output.waves) - 1] == "step 03: envLabel in [env-prod]"
#       error_message = "Production is not the last step."
#     }
#   }
output "waves" {
  value = provider::argocdprogressive::waves(file("${path.module}/guestbook.yaml"))
}
