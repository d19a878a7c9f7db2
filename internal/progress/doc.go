// Package progress lets people and programs watch a rollout while it runs: a line for each
// transition, in a file, a FIFO or a terminal, with the step, how much is done, and how long the rest
// may take.
//
// It knows the notes and the plan of package rollout, and nothing of Terraform, Argo CD or Kubernetes.
// Nothing in it may hold a rollout up or make it fail: what cannot be written is dropped, and Close
// says why. It prints no credentials: those in URLs are taken out, and it is never told others.
package progress
