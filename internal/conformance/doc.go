// Package conformance proves that this provider renders ApplicationSets as Argo CD does. It is a
// Go module of its own, of tests only: it imports Argo CD itself, which the provider must not.
//
// Every ApplicationSet is rendered twice. The oracle runs the code of Argo CD 3.6.1:
// applicationset/generators, applicationset/controllers/template and applicationset/utils, behind
// the CustomResourceDefinition as the API server applies it. The other side is package appset. Both
// ask the same world of cluster Secrets, ConfigMaps, git repository, OCI artifact and plugin. The Applications
// are compared field by field, as Argo CD's own types write them.
//
// There are three verdicts: both render the same; both fail; or Argo CD renders something that
// nobody can want, and this provider fails. The last is allowed only where the table in
// differences_test.go says so, recognised by what Argo CD was given or rendered. The guide
// "Differences from Argo CD" has an entry for each row of the table.
//
// The corpora are testdata/cases (see the README there), a grammar that writes sets (grammar_test.go),
// and testdata/reference.
//
// What sync windows hold back is compared as well, with windows, Applications and times at random
// (windows_test.go).
package conformance
