# In `terraform console`, or anywhere in a configuration:
#
#   > [for a in provider::argocdprogressive::render(file("guestbook.yaml")) : a.metadata.name]
output "names" {
  value = [for a in provider::argocdprogressive::render(file("${path.module}/guestbook.yaml")) : a.metadata.name]
}
