// Package faultproxy stands between a client and a Kubernetes API server, for tests, and does to
// requests what networks, load balancers and busy API servers do:
//
//	p, err := faultproxy.Start(cluster.RESTConfig(), faultproxy.Options{})
//	defer p.Close()
//	lost := p.Add(faultproxy.Rule{On: faultproxy.On("applications", "update"), Times: 2, Do: faultproxy.LoseAnswer()})
//	... use the kubeconfig that p.WriteKubeconfig wrote ...
//	if lost.Hits() != 2 { ... }
//
// A request is handled by the first rule that matches it and is not used up; others are forwarded
// as they are. The package owns matching, counting and the faults. It must not know Argo CD, the
// provider or what a test expects.
package faultproxy
