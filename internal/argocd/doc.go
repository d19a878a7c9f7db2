// Package argocd is Argo CD as the rest of the provider sees it: Applications over client-go's
// dynamic client.
//
// It owns nine things. Facts turns an Application's JSON into rollout.Live. Session carries out
// rollout.Action: one watch, and guarded requests that never go over a running operation. Record
// is what is stored beside the Applications. Lease is beside them as well: whoever writes a set
// holds it. Preflight asks, before the first write, whether Argo CD would take what we are about
// to write, and HeldBack what sync windows would hold back. TakeOver is about the ApplicationSet of
// Argo CD's own controller that a set replaces. Events and Version are what people see of a rollout
// with kubectl, and which Argo CD it is.
//
// It knows neither steps nor Terraform: what an Application is to become, and when, is decided by
// package rollout. Argo CD's own packages are not used; a rule taken from Argo CD names its
// source file and version.
package argocd
