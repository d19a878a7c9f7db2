package inputs

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

func discard() *log.Logger { return log.New(io.Discard, "", 0) }

// pemOf is the certificate of a test server.
func pemOf(server *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

// pluginAt describes a plugin with the token "canary-token".
func pluginAt(address string) *fakeCluster {
	c := newCluster()
	c.secret("argocd-secret", "", map[string]string{"plugin.token": "canary-token\n"})
	c.secret("own", "", map[string]string{"token": " canary-token ", "empty": "", "lines": "canary\ncanary"})
	c.configMap("plugin", map[string]string{"baseUrl": address, "token": "$plugin.token"})
	c.configMap("own", map[string]string{"baseUrl": address + "/base/", "token": "$own:token", "requestTimeout": "5"})
	return c
}

func servePlugin(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestAPluginIsCalledAsArgoCDDoes(t *testing.T) {
	var seen []string
	address := servePlugin(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		seen = append(seen, fmt.Sprintf("%s %s %s %s %s", r.Method, r.URL.Path, r.Header.Get("Content-Type"), r.Header.Get("Authorization"), strings.TrimSpace(string(body))))
		_, _ = io.WriteString(w, `{"output": {"parameters": [{"a": 1, "b": {"c": [true, null]}}, {}]}, "more": 1}`)
	})
	in := inputsOf(t, pluginAt(address))
	want := []map[string]any{{"a": 1.0, "b": map[string]any{"c": []any{true, nil}}}, {}}
	call := appset.PluginCall{ConfigMap: "plugin", Set: "guestbook", Parameters: map[string]any{"x": "<&>", "n": 1.0}}
	for range 2 {
		got, err := in.Plugin(t.Context(), call)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Plugin() = %v, %v; want %v", got, err, want)
		}
	}
	if _, err := in.Plugin(t.Context(), appset.PluginCall{ConfigMap: "own", Set: "guestbook"}); err != nil {
		t.Error(err)
	}
	wanted := []string{
		`POST /api/v1/getparams.execute application/json Bearer canary-token {"applicationSetName":"guestbook","input":{"parameters":{"n":1,"x":"<&>"}}}`,
		`POST /base/api/v1/getparams.execute application/json Bearer canary-token {"applicationSetName":"guestbook","input":{}}`,
	}
	if !slices.Equal(seen, wanted) {
		t.Errorf("the plugin was sent\n%s, want\n%s", strings.Join(seen, "\n"), strings.Join(wanted, "\n"))
	}
}

func TestAnswersOfPluginsThatAreNone(t *testing.T) {
	for name, c := range map[string]struct {
		code  int
		body  string
		said  string
		calls int32
	}{
		"empty":            {200, "", "its answer is empty", 1},
		"no JSON":          {200, "<html>canary-token", "is not JSON", 1},
		"two answers":      {200, `{"output": {"parameters": []}} {}`, "is not JSON", 1},
		"no output":        {200, `{"message": "canary-token"}`, "has no output.parameters", 1},
		"no parameters":    {200, `{"output": {}}`, "has no output.parameters", 1},
		"null":             {200, `{"output": {"parameters": null}}`, "has no output.parameters", 1},
		"no list":          {200, `{"output": {"parameters": {"a": 1}}}`, "output.parameters is of type object", 1},
		"a list":           {200, `[]`, "all of it is of type array", 1},
		"no objects":       {200, `{"output": {"parameters": ["canary-token"]}}`, "output.parameters is of type string", 1},
		"null in the list": {200, `{"output": {"parameters": [{}, null]}}`, "output.parameters[1]", 1},
		"too large":        {200, strings.Repeat(" ", pluginAnswerLimit+1), "more than 10 MiB", 1},
		"400 with message": {400, `{"message": "bad canary-token"}`, "status code 400: bad (hidden)", 1},
		"403 with error":   {403, `{"error": "no\u001b"}`, "status code 403: no.", 1},
		"404":              {404, "404 page not found\n", "status code 404: 404 page not found", 1},
		"500":              {500, "", "status code 500", 1},
		"502":              {502, "bad gateway", "status code 502: bad gateway", 3},
		"503":              {503, "", "status code 503", 3},
		"429":              {429, "", "status code 429", 3},
		"redirect":         {307, "", "it redirects (307)", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			address := servePlugin(t, func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				if c.code == 307 {
					w.Header().Set("Location", "/elsewhere")
				}
				w.WriteHeader(c.code)
				_, _ = io.WriteString(w, c.body)
			})
			_, err := inputsOf(t, pluginAt(address)).Plugin(t.Context(), appset.PluginCall{ConfigMap: "plugin", Set: "s"})
			says(t, err, c.said, "ConfigMap argocd/plugin", address)
			if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("the error has the token, or control characters: %q", err)
			}
			if calls.Load() != c.calls {
				t.Errorf("it was called %d times, want %d", calls.Load(), c.calls)
			}
		})
	}
}

func TestAPluginThatPassesIsCalledAgain(t *testing.T) {
	var calls atomic.Int32
	address := servePlugin(t, func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(body), `"s"`) {
			t.Errorf("call %d has the body %q, %v", calls.Load(), body, err)
		}
		switch calls.Add(1) {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.Close()
		default:
			_, _ = io.WriteString(w, `{"output": {"parameters": []}}`)
		}
	})
	got, err := inputsOf(t, pluginAt(address)).Plugin(t.Context(), appset.PluginCall{ConfigMap: "plugin", Set: "s"})
	if err != nil || len(got) != 0 {
		t.Errorf("Plugin() = %v, %v", got, err)
	}
}

func TestAPluginThatHangsIsGivenUp(t *testing.T) {
	release := make(chan struct{})
	address := servePlugin(t, func(http.ResponseWriter, *http.Request) { <-release })
	t.Cleanup(func() { close(release) })
	c := pluginAt(address)
	in := inputsOf(t, c)
	p, err := in.plugin(t.Context(), "plugin")
	if err != nil || p.timeout != 30*time.Second {
		t.Fatalf("the timeout is %s, %v; want that of Argo CD", p.timeout, err)
	}
	p.timeout = 20 * time.Millisecond
	_, err = in.call(t.Context(), p, nil)
	says(t, err, "did not answer within 20ms (requestTimeout)")

	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err = in.Plugin(ctx, appset.PluginCall{ConfigMap: "own", Set: "s"})
	says(t, err, "everything was cancelled")
}

func TestDescriptionsOfPluginsThatAreWrong(t *testing.T) {
	c := pluginAt("http://127.0.0.1:1")
	for name, data := range map[string]map[string]string{
		"no-url":         {"token": "$plugin.token"},
		"no-scheme":      {"baseUrl": "plugin.example.com", "token": "$plugin.token"},
		"other-scheme":   {"baseUrl": "ftp://plugin", "token": "$plugin.token"},
		"no-token":       {"baseUrl": "http://plugin"},
		"plain-token":    {"baseUrl": "http://plugin", "token": "canary"},
		"no-key":         {"baseUrl": "http://plugin", "token": "$own:"},
		"missing-key":    {"baseUrl": "http://plugin", "token": "$missing"},
		"empty-key":      {"baseUrl": "http://plugin", "token": "$own:empty"},
		"lines":          {"baseUrl": "http://plugin", "token": "$own:lines"},
		"missing-secret": {"baseUrl": "http://plugin", "token": "$nowhere:token"},
		"timeout":        {"baseUrl": "http://plugin", "token": "$plugin.token", "requestTimeout": "5s"},
		"negative":       {"baseUrl": "http://plugin", "token": "$plugin.token", "requestTimeout": "-1"},
		"inside":         {"baseUrl": "http://plugin.argocd.svc:8080", "token": "$plugin.token"},
	} {
		c.configMap(name, data)
	}
	for name, said := range map[string]string{
		"": "names no ConfigMap", "nowhere": "there is no ConfigMap argocd/nowhere",
		"no-url": "baseUrl is missing", "no-scheme": "baseUrl must be an http:// or https:// URL", "other-scheme": "baseUrl must be an http:// or https:// URL",
		"no-token": "must be written as $key", "plain-token": "must be written as $key", "no-key": "must be written as $key",
		"missing-key": `argocd/argocd-secret has no key "missing"`, "empty-key": "or an empty one", "lines": "more than one line", "missing-secret": "there is no Secret argocd/nowhere",
		"timeout": "requestTimeout must be a number of seconds", "negative": "requestTimeout must be a number of seconds",
		"inside": "plugin.argocd.svc looks like a name that is known inside of the cluster only",
	} {
		_, err := inputsOf(t, c).Plugin(t.Context(), appset.PluginCall{ConfigMap: name, Set: "s"})
		says(t, err, said)
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("the error has the token: %v", err)
		}
	}
	c.forbid("get", "secrets")
	_, err := inputsOf(t, c).Plugin(t.Context(), appset.PluginCall{ConfigMap: "plugin", Set: "s"})
	says(t, err, "the token of the plugin", `resources: ["secrets"]`, `verbs: ["get"]`)
	c.forbid("get", "configmaps")
	_, err = inputsOf(t, c).Plugin(t.Context(), appset.PluginCall{ConfigMap: "plugin", Set: "s"})
	says(t, err, "reading ConfigMap argocd/plugin", `resources: ["configmaps"]`, `verbs: ["get"]`)
}

func FuzzPluginAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"output": {"parameters": [{"a": 1}]}}`, `{"output": {"parameters": []}}`, `{"OUTPUT": {"Parameters": [{}]}}`, `{}`, `null`, `[`, ``,
		strings.Repeat("[", 20000), `{"output": {"parameters": [null]}}`, `{"output": {"parameters": [{"a": 1e999}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := decodePlugin(text)
		if err != nil {
			if len(err.Error()) > 500 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			return
		}
		// What was read is whole: written again, it is the same.
		again, err := json.Marshal(map[string]any{"output": map[string]any{"parameters": found}})
		if err != nil {
			t.Fatal(err)
		}
		same, err := decodePlugin(again)
		if err != nil || !reflect.DeepEqual(found, same) {
			t.Errorf("%s is read as %v, and again as %v, %v", text, found, same, err)
		}
	})
}

func TestAPluginMustNotGiveItsTokenBack(t *testing.T) {
	for name, answer := range map[string]string{
		"as a value": `[{"name": "canary-token"}]`, "inside of a value": `[{"a": {"b": ["x-canary-token-y"]}}]`, "as a key": `[{"canary-token": 1}]`,
	} {
		t.Run(name, func(t *testing.T) {
			address := servePlugin(t, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = fmt.Fprintf(w, `{"output": {"parameters": %s}}`, answer)
			})
			found, err := inputsOf(t, pluginAt(address)).Plugin(t.Context(), appset.PluginCall{ConfigMap: "plugin", Set: "s"})
			says(t, err, "its answer has the token in it", "ConfigMap argocd/plugin")
			if found != nil || strings.Contains(err.Error(), "canary") {
				t.Errorf("the plugin gives %v, %v", found, err)
			}
		})
	}
}

func TestSecretsThatWereReadAreHiddenInTexts(t *testing.T) {
	address := servePlugin(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"output": {"parameters": []}}`)
	})
	c := pluginAt(address)
	c.secret("repo", "repository", map[string]string{"url": "https://git.example.com/r", "username": "reader", "password": "canary-token-of-git"})
	c.secret("short", "repository", map[string]string{"url": "https://git.example.com/s", "password": "name"})
	in := inputsOf(t, c)
	const text = `the name "canary-token-of-git" and canary-token of reader`
	if got := in.Redact(text); got != text {
		t.Errorf("before anything was read: %q", got)
	}
	if _, err := in.Plugin(t.Context(), appset.PluginCall{ConfigMap: "plugin", Set: "s"}); err != nil {
		t.Fatal(err)
	}
	if _, err := in.repositorySecrets(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := in.Redact(text), `the name "(hidden)" and (hidden) of reader`; got != want {
		t.Errorf("Redact() = %q, want %q", got, want)
	}
}
