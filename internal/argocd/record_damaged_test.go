package argocd

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

func TestRecordThatCannotBeReadSaysWhy(t *testing.T) {
	for name, test := range map[string]struct {
		change func(data map[string]any)
		want   string
		// of is whose record it says to be, where that is another set; newer: it is not damaged.
		of    string
		newer bool
	}{
		"of a newer provider":  {change: func(d map[string]any) { d["version"] = "2" }, want: "upgrade the provider", newer: true},
		"without a version":    {change: func(d map[string]any) { delete(d, "version") }, want: `data.version is ""`},
		"of version zero":      {change: func(d map[string]any) { d["version"] = "0" }, want: `data.version is "0"`},
		"with a wrong digest":  {change: func(d map[string]any) { d["digest"] = strings.Repeat("0", 64) }, want: "digest"},
		"without its parts":    {change: func(d map[string]any) { d["parts"] = "many" }, want: `data.parts is "many"`},
		"with a part too many": {change: func(d map[string]any) { d["parts"] = "1" }, want: "a part of it is missing"},
		"of another set":       {change: func(d map[string]any) { d["owner"] = "argocd/other" }, want: `data.owner is "argocd/other"`, of: "argocd/other"},
		"of no set":            {change: func(d map[string]any) { delete(d, "owner") }, want: `data.owner is ""`},
		"with a short digest":  {change: func(d map[string]any) { d["digest"] = "00" }, want: `data.digest "00"`},
		"with negative parts":  {change: func(d map[string]any) { d["parts"] = "-1" }, want: `data.parts is "-1"`},
		"with a broken number": {change: func(d map[string]any) { d["version"] = "1.0" }, want: `data.version is "1.0"`},
		"without its content":  {change: func(d map[string]any) { d["digest"] = hex.EncodeToString(sha256.New().Sum(nil)) }, want: "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			head, _, err := encodeRecord(shop, smallRecord())
			if err != nil {
				t.Fatal(err)
			}
			test.change(dict(head.Object, "data"))
			if name == "without its content" {
				delete(head.Object, "binaryData")
			}
			server := newRecordServer()
			server.store(head.Object)
			_, err = clientOf(t, server).LoadRecord(t.Context(), shop)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want it to contain %q", err, test.want)
			}
			if errors.Is(err, ErrTooNew) != test.newer {
				t.Errorf("too new: %v", err)
			}
			var damaged *RecordDamagedError
			if errors.As(err, &damaged) == test.newer {
				t.Fatalf("damaged: %v", err)
			}
			if damaged == nil {
				return
			}
			if damaged.Set != shop || damaged.Of != test.of || !strings.Contains(err.Error(), "(ConfigMap argocd/"+recordName(shop)+")") {
				t.Errorf("it is said of %s, %q: %v", damaged.Set, damaged.Of, err)
			}
		})
	}
}

// clientOf is a client of an API server for ConfigMaps.
func clientOf(t *testing.T, server *recordServer) *Client {
	t.Helper()
	upstream := httptest.NewServer(server)
	t.Cleanup(upstream.Close)
	client, err := New(&rest.Config{Host: upstream.URL}, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestTheCommandsForADamagedRecordNameAllOfIt(t *testing.T) {
	head, parts, err := encodeRecord(shop, &Record{Payload: bigPayload(t, recordPartSize+1000)})
	if err != nil || len(parts) == 0 {
		t.Fatal(parts, err)
	}
	damaged := &RecordDamagedError{Set: shop}
	_, selector, _ := strings.Cut(damaged.DeleteByHand(), " -l ")
	key, value, _ := strings.Cut(selector, "=")
	for _, cm := range append(parts, head) {
		if cm.GetLabels()[key] != value {
			t.Errorf("%q does not select %s with %v", selector, cm.GetName(), cm.GetLabels())
		}
	}
	if want := "kubectl -n argocd get configmap " + head.GetName() + " -o yaml"; damaged.ShowByHand() != want {
		t.Errorf("it is shown by %q, not by %q", damaged.ShowByHand(), want)
	}
}
