package helmrepo

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestIndexNamesEveryVersionAndArchivesMatchTheirDigest(t *testing.T) {
	s, err := Start(Chart{Name: "one", Version: "1.0.0"}, Chart{Name: "two", Version: "2.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Add(Chart{Name: "one", Version: "1.1.0", Templates: map[string]string{"x.yaml": "x: y"}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(Chart{Name: "one", Version: "1.1.0"}); err == nil {
		t.Error("a version can be published twice")
	}

	var index struct {
		Entries map[string][]indexEntry `json:"entries"`
	}
	if err := yaml.Unmarshal(get(t, s.URL()+"/index.yaml"), &index); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range slices.Sorted(maps.Keys(index.Entries)) {
		for _, entry := range index.Entries[name] {
			got = append(got, entry.Name+" "+entry.Version)
			archive := get(t, s.URL()+"/"+entry.URLs[0])
			if sum := sha256.Sum256(archive); hex.EncodeToString(sum[:]) != entry.Digest {
				t.Errorf("%s %s: the archive does not match its digest", entry.Name, entry.Version)
			}
		}
	}
	if want := "one 1.0.0, one 1.1.0, two 2.0.0"; strings.Join(got, ", ") != want {
		t.Errorf("index has %s, want %s", strings.Join(got, ", "), want)
	}
	want := []string{"one/Chart.yaml", "one/templates/x.yaml", "one/values.yaml"}
	if got := names(t, get(t, s.URL()+"/one-1.1.0.tgz")); !slices.Equal(got, want) {
		t.Errorf("the archive holds %v, want %v", got, want)
	}
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	response, err := http.Get(url) // our own server
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s, %v", url, response.Status, err)
	}
	return body
}

func names(t *testing.T, archive []byte) []string {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for in := tar.NewReader(unzipped); ; {
		header, err := in.Next()
		if err == io.EOF {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
}
