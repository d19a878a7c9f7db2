package ocisource

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/gitsource"
)

func TestARevisionIsATagADigestOrTheHighestVersion(t *testing.T) {
	r := newRegistry(t)
	digests := map[string]string{}
	for _, tag := range []string{"1.0.0", "v1.10.0", "1.9.3", "2.0.0-rc.1", "stable", "3.0.0_build", "1.x.odd"} {
		digests[tag] = r.pushFile(tag, "version.txt", tag)
	}
	for revision, tag := range map[string]string{
		"1.0.0": "1.0.0", "stable": "stable", digests["1.9.3"]: "1.9.3", "1.x": "v1.10.0", "~1.9.0": "1.9.3", ">=1.0.0 <1.5.0": "1.0.0",
		"tag@" + digests["1.9.3"]: "1.9.3",
	} {
		tree := must(t, r.repository(), revision)
		content, err := tree.Read("version.txt")
		if err != nil || string(content) != tag || tree.Digest() != digests[tag] {
			t.Errorf("%q is %q at %s, %v; want %q at %s", revision, content, tree.Digest(), err, tag, digests[tag])
		}
	}
	for revision, c := range map[string]struct {
		kind gitsource.Kind
		said string
	}{
		"nothing":   {gitsource.Missing, `it has no tag and no digest "nothing"`},
		"1.0.1":     {gitsource.Missing, `"1.0.1"`},
		">=4.0.0":   {gitsource.Revision, "none of its 7 tags is a version that satisfies"},
		">=3.0.0":   {gitsource.Revision, `"3.0.0+build" satisfies ">=3.0.0", but there is no such tag`},
		"no/tag":    {gitsource.Revision, "neither a tag nor a digest"},
		"sha256:00": {gitsource.Revision, "neither a tag nor a digest"},
	} {
		_, err := fetch(t.Context(), r.repository(), revision, quick())
		fails(t, err, c.kind, "fetching revision", r.repository().URL, c.said)
	}
}

func TestURLsThatAreNoneOfAnArtifact(t *testing.T) {
	for url, said := range map[string]string{
		"https://ghcr.io/org/app":     "begins with oci://",
		"ghcr.io/org/app":             "begins with oci://",
		"oci://ghcr.io":               "oci://HOST/NAME",
		"oci://ghcr.io/Org/App":       "small letters",
		"oci://me:canary@ghcr.io/org": "oci://HOST/NAME",
	} {
		_, err := Fetch(t.Context(), Repository{Repository: gitsource.Repository{URL: url}}, "1")
		fails(t, err, gitsource.Invalid, said)
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("the error has the password: %v", err)
		}
	}
}

func TestWhatARegistrySendsIsChecked(t *testing.T) {
	blob := func(answer func(w http.ResponseWriter, content []byte)) func(*registry) {
		return func(r *registry) {
			r.before = func(w http.ResponseWriter, request *http.Request) bool {
				_, digest, isBlob := strings.Cut(request.URL.Path, "/blobs/")
				if isBlob {
					answer(w, r.content[digest])
				}
				return isBlob
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*registry)
		kind   gitsource.Kind
		said   string
	}{
		"another content": {blob(func(w http.ResponseWriter, content []byte) {
			other := bytes.Clone(content)
			other[4]++ // the time in the header of gzip
			_, _ = w.Write(other)
		}), gitsource.Invalid, "not what its digest says"},
		"more content": {blob(func(w http.ResponseWriter, content []byte) {
			w.(http.Flusher).Flush() // without a length
			_, _ = w.Write(append(bytes.Clone(content), 1))
		}), gitsource.Invalid, "not what its digest says"},
		"less content": {blob(func(w http.ResponseWriter, content []byte) {
			w.(http.Flusher).Flush()
			_, _ = w.Write(content[:len(content)/2])
		}), gitsource.Unreachable, "ends in the middle"},
		"no blob":   {blob(func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusNotFound) }), gitsource.Missing, "its layer sha256:"},
		"forbidden": {blob(func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusForbidden) }), gitsource.Authentication, "may not read it (403)"},
		"too busy":  {blob(func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusServiceUnavailable) }), gitsource.Unreachable, "503 Service Unavailable"},
		"a teapot":  {blob(func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusTeapot) }), gitsource.Other, "418 I'm a teapot"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry(t)
			r.pushFile("1", "a.txt", strings.Repeat("a", 5000))
			c.change(r)
			_, err := fetch(t.Context(), r.repository(), "1", quick())
			fails(t, err, c.kind, c.said)
		})
	}
}

func TestARegistryThatIsTooBusyIsAskedAgain(t *testing.T) {
	r := newRegistry(t)
	r.pushFile("1", "a.txt", "a")
	left := 2
	r.before = func(w http.ResponseWriter, _ *http.Request) bool {
		if left--; left >= 0 {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		return left >= 0
	}
	must(t, r.repository(), "1")
}

func TestARegistryThatDoesNotAnswerIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		limits func(*limits)
		cancel bool
		said   string
	}{
		"after the time for all of it": {func(l *limits) { l.fetch = 20 * time.Millisecond }, false, "it took more than 20ms"},
		"when everything is cancelled": {func(*limits) {}, true, "everything was cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
				if c.cancel {
					cancel()
				}
				select {
				case <-release:
				case <-request.Context().Done():
				}
			}))
			defer server.Close()
			defer close(release)
			l := quick()
			c.limits(&l)
			_, host, _ := strings.Cut(server.URL, "://")
			_, err := fetch(ctx, Repository{Repository: gitsource.Repository{URL: "oci://" + host + "/a"}, PlainHTTP: true}, "1", l)
			fails(t, err, gitsource.Unreachable, c.said)
		})
	}
}
