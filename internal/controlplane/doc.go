// Package controlplane runs a real Argo CD on a real Kubernetes API for tests, the demo and
// the bench: etcd, kube-apiserver, kube-controller-manager, Argo CD's application controller
// and repo server (and, on request, its ApplicationSet controller), with a Redis that lives in
// memory. There is no container and no node: every part is a program on 127.0.0.1, built once
// from its Go module into the user's cache directory.
//
//	binaries, err := controlplane.Build(ctx, os.Stderr) // minutes at first, then nothing
//	cluster, err := controlplane.Start(ctx, controlplane.Options{Binaries: binaries})
//	defer cluster.Stop()
//
// The package owns the pinned versions (modules/), the build cache, the processes and what
// they need to start: certificates, tokens, ports, CustomResourceDefinitions and Argo CD's own
// configuration. It must not know the provider, ApplicationSet rendering or rollouts; it knows
// Argo CD only as programs with flags.
//
// Nodes do not exist, so a Pod is never scheduled and a Deployment never becomes Healthy. Use
// ConfigMaps: Argo CD reads their health from data.health and data.message (see bootstrap.go).
package controlplane
