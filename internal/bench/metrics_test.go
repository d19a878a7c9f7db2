package main

import (
	"strings"
	"testing"
)

func TestSamplesOfOneMetric(t *testing.T) {
	page := `# HELP argocd_git_request_total Number of git requests
# TYPE argocd_git_request_total counter
argocd_git_request_total{repo="file:///a,b}",request_type="ls-remote"} 12
argocd_git_request_total{repo="file:///a",request_type="fetch"} 1e+01
argocd_git_request_total_created{repo="x"} 5
plain 7
`
	samples, err := samplesOf(strings.NewReader(page), "argocd_git_request_total")
	if err != nil {
		t.Fatal(err)
	}
	if len(samples) != 2 || samples[0].value != 12 || samples[0].labels["request_type"] != "ls-remote" ||
		samples[0].labels["repo"] != "file:///a,b}" || samples[1].value != 10 {
		t.Errorf("the samples are %+v", samples)
	}
	if samples, err := samplesOf(strings.NewReader(page), "plain"); err != nil || len(samples) != 1 || samples[0].value != 7 {
		t.Errorf("without labels: %+v, %v", samples, err)
	}
	if _, err := samplesOf(strings.NewReader("plain x\n"), "plain"); err == nil {
		t.Error("a value that is no number is taken")
	}
}

func TestCountersThatAreNotKnownStayUnknown(t *testing.T) {
	known, unknown := counters{writes: 5, reads: 4, lsRemotes: 3}, counters{writes: 1, reads: 1, lsRemotes: -1}
	if d := known.minus(unknown); d.writes != 4 || d.reads != 3 || d.lsRemotes >= 0 {
		t.Errorf("the difference is %+v", d)
	}
	if d := known.minus(counters{lsRemotes: 1}); d.lsRemotes != 2 {
		t.Errorf("the difference is %+v, want 2 ls-remotes", d)
	}
}

func TestTheMetricsPortIsThatOfTheRepoServer(t *testing.T) {
	for _, test := range []struct {
		command []string
		want    string
	}{
		{[]string{"/cache/bin/argocd-repo-server", "--port=1", "--metrics-port=25000"}, "25000"},
		{[]string{"/cache/bin/argocd-application-controller", "--metrics-port=25001"}, ""},
		{[]string{"/cache/bin/argocd-repo-server"}, ""},
		{[]string{""}, ""},
	} {
		if got := metricsPort(test.command); got != test.want {
			t.Errorf("the port of %q is %q, want %q", test.command, got, test.want)
		}
	}
}
