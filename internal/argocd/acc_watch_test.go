package argocd

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// wire passes connections on to an API server, until it is cut.
type wire struct {
	target   string
	listener net.Listener
	mu       sync.Mutex
	down     bool
	open     []net.Conn
}

func newWire(t *testing.T, target string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{target: target, listener: listener}
	t.Cleanup(func() { listener.Close(); w.cut(true) })
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			go w.pass(in)
		}
	}()
	return w
}

func (w *wire) pass(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", w.target)
	if err != nil {
		return
	}
	defer out.Close()
	w.mu.Lock()
	down := w.down
	w.open = append(w.open, in, out)
	w.mu.Unlock()
	if down {
		return
	}
	go func() { _, _ = io.Copy(out, in) }()
	_, _ = io.Copy(in, out)
}

// cut ends all connections; while down, new ones end at once.
func (w *wire) cut(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
	for _, c := range w.open {
		c.Close()
	}
	w.open = nil
}

func TestAccWatchGoesOnAfterALostConnection(t *testing.T) {
	l := newLab(t, "acc-wire")
	config := l.cluster.RESTConfig()
	server, err := url.Parse(config.Host)
	l.must(err)
	w := newWire(t, server.Host)
	config.Host = "https://" + w.listener.Addr().String()
	direct := l.client
	t.Cleanup(func() { l.client = direct })
	l.client, err = New(config, l.cluster.ArgoNamespace())
	l.must(err)

	l.commit("1", 0)
	keep, gone := l.rendered("acc-wire-keep", nil), l.rendered("acc-wire-gone", nil)
	delete(dict(gone, "metadata"), "finalizers")
	r := l.session(SessionOptions{}, keep, gone)
	r.ok(rollout.Action{Verb: rollout.Write, App: "acc-wire-keep", StepLabel: "step 01"})
	r.ok(rollout.Action{Verb: rollout.Write, App: "acc-wire-gone", StepLabel: "step 01"})
	r.untilLive("acc-wire-keep", "is compared", func(l rollout.Live) bool { return len(l.Sync.Revisions) > 0 })
	r.untilLive("acc-wire-gone", "is compared", func(l rollout.Live) bool { return len(l.Sync.Revisions) > 0 })

	w.cut(true)
	apps := direct.apps(l.owner.Namespace)
	l.must(apps.Delete(l.ctx, "acc-wire-gone", metav1.DeleteOptions{}))
	_, err = apps.Patch(l.ctx, "acc-wire-keep", types.MergePatchType, []byte(`{"metadata":{"annotations":{"argocdprogressive.io/step":"step 02"}}}`), metav1.PatchOptions{})
	l.must(err)
	time.AfterFunc(time.Second, func() { w.cut(false) })

	// A write in the meantime is repeated until it gets through.
	l.must(r.Do(l.ctx, rollout.Action{Verb: rollout.Mark, App: "acc-wire-keep", StepLabel: "step 03"}).Err)
	seen := map[string]bool{}
	r.until("both changes of the time without a connection", func(e rollout.Event) bool {
		switch {
		case e.Name == "acc-wire-gone" && e.Live == nil:
			seen["gone"] = true
		case e.Name == "acc-wire-keep" && e.Live != nil && e.Live.StepLabel == "step 02":
			seen["kept"] = true
		}
		return len(seen) == 2
	})
	r.remove("acc-wire-keep")
}
