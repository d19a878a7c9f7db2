// Package helmrepo serves a tiny Helm repository over HTTP, with charts made in
// memory, for tests. It knows nothing of Argo CD.
package helmrepo

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/yaml"
)

// Chart is one version of one chart.
type Chart struct {
	Name    string
	Version string // semantic version
	// Templates are the chart's templates by file name ("configmap.yaml"). Default: one
	// ConfigMap called as the release, with the chart's name and version and, as "value", the
	// Helm value of that name in its data.
	Templates map[string]string
	// Values are the chart's default values. Default: value: "".
	Values map[string]any
}

const defaultTemplate = `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  chart: {{ .Chart.Name | quote }}
  version: {{ .Chart.Version | quote }}
  value: {{ .Values.value | quote }}
`

// Server is a Helm repository. Charts may be added while it serves.
type Server struct {
	http *http.Server
	url  string

	mu    sync.Mutex
	files map[string][]byte // archives by path
	index map[string][]indexEntry
}

// indexEntry is one chart version in index.yaml.
type indexEntry struct {
	APIVersion string   `json:"apiVersion"`
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Created    string   `json:"created"`
	Digest     string   `json:"digest"`
	URLs       []string `json:"urls"`
}

// Start serves charts on 127.0.0.1 until Close.
func Start(charts ...Chart) (*Server, error) { return StartOn("127.0.0.1", charts...) }

// StartOn is Start on another address of this machine.
func StartOn(address string, charts ...Chart) (*Server, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return nil, err
	}
	s := &Server{url: "http://" + listener.Addr().String(), files: map[string][]byte{}, index: map[string][]indexEntry{}}
	for _, chart := range charts {
		if err := s.Add(chart); err != nil {
			return nil, errors.Join(err, listener.Close())
		}
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.http.Serve(listener) }() // ends with ErrServerClosed at Close
	return s, nil
}

// URL is what goes into an Application's repoURL.
func (s *Server) URL() string { return s.url }

// Close ends the server.
func (s *Server) Close() error { return s.http.Close() }

// Add publishes a chart version. A version that is published already is an error, as Helm
// clients may have cached it.
func (s *Server) Add(chart Chart) error {
	archive, err := chart.archive()
	if err != nil {
		return fmt.Errorf("packing the chart %s %s: %w", chart.Name, chart.Version, err)
	}
	file := chart.Name + "-" + chart.Version + ".tgz"
	digest := sha256.Sum256(archive)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.files["/"+file]; ok {
		return fmt.Errorf("the chart %s %s is published already", chart.Name, chart.Version)
	}
	s.files["/"+file] = archive
	s.index[chart.Name] = append(s.index[chart.Name], indexEntry{
		APIVersion: "v2", Name: chart.Name, Version: chart.Version, Created: "2024-01-01T00:00:00Z",
		Digest: hex.EncodeToString(digest[:]), URLs: []string{file},
	})
	return nil
}

// ServeHTTP answers with index.yaml or an archive.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	content, ok := s.files[r.URL.Path]
	if r.URL.Path == "/index.yaml" {
		var err error
		content, err = yaml.Marshal(map[string]any{
			"apiVersion": "v1", "generated": "2024-01-01T00:00:00Z", "entries": s.index,
		})
		ok = err == nil
	}
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(content) // the client has gone: nobody to tell
}

// archive packs the chart as "helm package" does.
func (c Chart) archive() ([]byte, error) {
	meta, err := yaml.Marshal(map[string]string{"apiVersion": "v2", "name": c.Name, "version": c.Version})
	if err != nil {
		return nil, err
	}
	values := c.Values
	if values == nil {
		values = map[string]any{"value": ""}
	}
	defaults, err := yaml.Marshal(values)
	if err != nil {
		return nil, err
	}
	files := map[string]string{"Chart.yaml": string(meta), "values.yaml": string(defaults)}
	templates := c.Templates
	if templates == nil {
		templates = map[string]string{"configmap.yaml": defaultTemplate}
	}
	for name, content := range templates {
		files["templates/"+name] = content
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	out := tar.NewWriter(zip)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Name: c.Name + "/" + name, Mode: 0o644, Size: int64(len(files[name]))}
		if err := out.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := out.Write([]byte(files[name])); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(out.Close(), zip.Close()); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}
