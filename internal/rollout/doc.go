// Package rollout is the engine: it decides which Application may change when.
//
// It owns two things. The plan: desired Applications, their steps and targets, and the waves
// that `terraform plan` shows (pure functions). The run: one state machine that owns all state
// of an apply, takes events of the live Applications, and answers with actions.
//
// It knows neither Kubernetes nor Terraform nor Argo CD's JSON: live Applications come as the
// facts of Live, actions go out through Cluster, time comes from Clock. Package argocd adapts
// both sides.
package rollout
