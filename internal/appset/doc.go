// Package appset is the pure core of the provider: the ApplicationSet model of
// Argo CD 3.6, its strict decoding and validation, the generators, the
// templates, and the normalisation and hash by which two Applications are the
// same.
//
// It turns a spec into a sorted list of Applications, or into errors that name
// the field, the generator and the element. It reads no cluster and no clock: what
// generators ask of the outside is asked of [Inputs], and kept as [Answers], so the
// same input gives the same output in plan and in apply.
//
// Input and output are generic trees: map[string]any, []any, string, bool,
// float64, int64, nil, and [Unknown] at every place whose value Terraform does
// not know yet. HCL and YAML are both turned into that form by the callers. An
// Unknown is never rendered to text: whatever refers to it is Unknown itself.
//
// The package must not know client-go, Terraform, or how a rollout runs.
package appset
