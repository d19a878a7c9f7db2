// Package acceptance holds the tests of the whole provider: the real terraform binary drives it
// against a real Argo CD (internal/controlplane). It has no code of its own, only tests.
//
// A test makes a fixture (newFixture), writes a configuration with it (set), and runs Terraform
// with terraform-plugin-testing (fixture.run), or with the command line where an exit code or a
// command of its own matters (fixture.cli). What Argo CD did, and in which order, is read from a
// recorder: a watch on the Applications that keeps every state.
//
// Like all acceptance tests of Terraform providers they are skipped unless TF_ACC is set.
package acceptance
