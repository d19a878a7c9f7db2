# Credentials that renew themselves: a rollout can take longer than a token lives.
provider "argocdprogressive" {
  alias = "eks"

  kubernetes = {
    host                   = "https://ABCDEF.gr7.eu-central-1.eks.amazonaws.com"
    cluster_ca_certificate = file("${path.module}/hub-ca.pem")

    exec = {
      api_version = "client.authentication.k8s.io/v1"
      command     = "aws"
      args        = ["eks", "get-token", "--cluster-name", "hub"]
    }
  }
}
