package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane"
)

// sample is one line of a metrics page.
type sample struct {
	labels map[string]string
	value  float64
}

var labelPattern = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)

// samplesOf reads the samples of one metric in Prometheus' text format. Label values with escapes
// stay as they are written.
func samplesOf(page io.Reader, metric string) ([]sample, error) {
	var samples []sample
	lines := bufio.NewScanner(page)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), metric)
		if !ok || rest == "" || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		s := sample{labels: map[string]string{}}
		if end := strings.LastIndexByte(rest, '}'); end >= 0 {
			for _, label := range labelPattern.FindAllStringSubmatch(rest[:end], -1) {
				s.labels[label[1]] = label[2]
			}
			rest = rest[end+1:]
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
		if err != nil {
			return nil, fmt.Errorf("reading the metric %s: %w", metric, err)
		}
		s.value = value
		samples = append(samples, s)
	}
	return samples, lines.Err()
}

// counters are what the API server and the repo server have counted so far.
type counters struct {
	// writes and reads are all requests for Applications and ApplicationSets, whoever made them;
	// watches that have not ended are not among them, nor are dry runs.
	writes, reads float64
	// lsRemotes are the repo server's; negative when they cannot be read.
	lsRemotes float64
}

func (c counters) minus(before counters) counters {
	d := counters{writes: c.writes - before.writes, reads: c.reads - before.reads, lsRemotes: c.lsRemotes - before.lsRemotes}
	if c.lsRemotes < 0 || before.lsRemotes < 0 {
		d.lsRemotes = -1
	}
	return d
}

// scraper reads counters.
type scraper struct {
	apiServer  *http.Client
	apiURL     string
	repoServer string // URL, empty when unknown
}

func newScraper(config *rest.Config) (*scraper, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return &scraper{apiServer: client, apiURL: config.Host + "/metrics", repoServer: repoServerMetrics()}, nil
}

func (s *scraper) read(ctx context.Context) (counters, error) {
	c := counters{lsRemotes: -1}
	requests, err := s.get(ctx, s.apiServer, s.apiURL, "apiserver_request_total")
	if err != nil {
		return c, err
	}
	for _, r := range requests {
		if r.labels["group"] != "argoproj.io" || r.labels["dry_run"] != "" {
			continue
		}
		switch r.labels["verb"] {
		case "POST", "PUT", "PATCH", "DELETE", "DELETECOLLECTION":
			c.writes += r.value
		default:
			c.reads += r.value
		}
	}
	if s.repoServer == "" {
		return c, nil
	}
	git, err := s.get(ctx, http.DefaultClient, s.repoServer, "argocd_git_request_total")
	if err != nil {
		return c, err
	}
	c.lsRemotes = 0
	for _, r := range git {
		if r.labels["request_type"] == "ls-remote" {
			c.lsRemotes += r.value
		}
	}
	return c, nil
}

func (s *scraper) get(ctx context.Context, client *http.Client, url, metric string) ([]sample, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, response.Status)
	}
	return samplesOf(response.Body, metric)
}

// repoServerMetrics is the URL of the repo server's metrics: its port stands in the command line
// of that child process, as far as the system shows those; empty if not.
func repoServerMetrics() string {
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return ""
	}
	for _, file := range commands {
		content, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		stat, err := os.ReadFile(filepath.Join(filepath.Dir(file), "stat"))
		if err != nil {
			continue
		}
		if p, ok := parseStat(string(stat)); !ok || p.parent != os.Getpid() {
			continue
		}
		if port := metricsPort(strings.Split(string(content), "\x00")); port != "" {
			return "http://127.0.0.1:" + port + "/metrics"
		}
	}
	return ""
}

func metricsPort(command []string) string {
	if filepath.Base(command[0]) != controlplane.RepoServer {
		return ""
	}
	for _, arg := range command[1:] {
		if port, ok := strings.CutPrefix(arg, "--metrics-port="); ok {
			return port
		}
	}
	return ""
}
