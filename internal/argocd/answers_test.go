package argocd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/faultproxy"
)

func TestAServerCannotMakeAClientWaitForHours(t *testing.T) {
	asked := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", asked)
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	limit := &answerLimit{next: http.DefaultTransport, timeout: time.Minute, watch: time.Minute, outages: &outages{now: time.Now}}
	for said, heard := range map[string]string{"86400": "10", "11": "10", "10": "10", "1": "1", "0": "0", "-3": "-3", "soon": "soon"} {
		asked = said
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := limit.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if got := response.Header.Get("Retry-After"); got != heard {
			t.Errorf("Retry-After %s is heard as %q, not %s", said, got, heard)
		}
	}
}

func TestAnAnswerThatDoesNotComeIsNotWaitedForForEver(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("begins") != "" {
			_, _ = io.WriteString(w, "half of")
			w.(http.Flusher).Flush()
		}
		if r.URL.Query().Get("ends") == "" {
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	through := func(timeout, watch time.Duration) *http.Client {
		return &http.Client{Transport: &answerLimit{next: http.DefaultTransport, timeout: timeout, watch: watch, outages: &outages{now: time.Now}}}
	}
	hasty, patient := through(50*time.Millisecond, 40*time.Millisecond), through(time.Minute, time.Second)
	ask := func(ctx context.Context, client *http.Client, query string) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"?"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		_, err = io.ReadAll(response.Body)
		return err
	}
	for name, query := range map[string]string{
		"no answer at all": "", "half an answer": "begins=1", "a watch that does not begin": "watch=true",
	} {
		err := ask(t.Context(), hasty, query)
		var late *noAnswerError
		if !errors.As(err, &late) || !transient(err) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if err := ask(t.Context(), patient, "begins=1&ends=1"); err != nil {
		t.Errorf("a whole answer: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	if err := ask(ctx, patient, "begins=1&watch=true"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a watch that has begun ends with %v, want that of its caller", err)
	}
	cancelled, end := context.WithCancel(t.Context())
	end()
	if err := ask(cancelled, patient, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that gives up gets %v", err)
	}
}

func TestWhichFailuresMayPass(t *testing.T) {
	var list struct{ Items []any }
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"an HTTP/2 stream that is reset":          {http2.StreamError{StreamID: 3, Code: http2.ErrCodeInternal}, true},
		"an HTTP/2 server that goes away":         {http2.GoAwayError{ErrCode: http2.ErrCodeNo}, true},
		"half a connection":                       {io.ErrUnexpectedEOF, true},
		"half a JSON text":                        {json.Unmarshal([]byte(`{"items":[`), &list), true},
		"half a JSON text, as client-go tells it": {errors.New("couldn't get version/kind; json parse error: unexpected end of JSON input"), true},
		"an answer of another form":               {json.Unmarshal([]byte(`{"items":7}`), &list), false},
		"credentials that cannot be had":          {errors.New("getting credentials: exec: executable aws not found"), false},
		"a caller that gives up":                  {context.Canceled, false},
		"a refusal":                               {apierrors.NewForbidden(applications.GroupResource(), "a", nil), false},
		"a conflict":                              {apierrors.NewConflict(applications.GroupResource(), "a", nil), false},
		"a page of a load balancer":               {apierrors.NewGenericServerResponse(http.StatusBadGateway, "get", applications.GroupResource(), "a", "<html>", 0, true), true},
	} {
		for how, err := range map[string]error{"bare": c.err, "wrapped": &RequestError{Verb: "get", Err: fmt.Errorf("get: %w", c.err)}} {
			if got := transient(err); got != c.want {
				t.Errorf("%s, %s: transient is %v", name, how, got)
			}
		}
	}
}

func TestAnAPIServerThatHasJustComeBackMayRefuseForAWhile(t *testing.T) {
	server := httptest.NewServer(newRecordServer())
	defer server.Close()
	forbidden := faultproxy.Answer(http.StatusForbidden, metav1.StatusReasonForbidden, "no")
	for name, c := range map[string]struct {
		outage  faultproxy.Fault
		later   time.Duration
		refuses faultproxy.Fault
		lets    bool
	}{
		"after lost connections":                {faultproxy.Reset(), 0, forbidden, true},
		"after a page of a load balancer":       {faultproxy.Page(http.StatusBadGateway), 0, forbidden, true},
		"credentials that it does not know yet": {faultproxy.Reset(), 0, faultproxy.Answer(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "who"), true},
		"long after":                            {faultproxy.Reset(), settleTime, forbidden, false},
		"without an outage":                     {faultproxy.Answer(http.StatusNotFound, metav1.StatusReasonNotFound, "none"), 0, forbidden, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := faultproxy.Start(&rest.Config{Host: server.URL}, faultproxy.Options{Plain: true})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			client, err := New(&rest.Config{Host: p.URL()}, "argocd")
			if err != nil {
				t.Fatal(err)
			}
			now := time.Now()
			client.outages.now = func() time.Time { return now }
			client.retry.sleep = func(context.Context, time.Duration) error { return nil }
			p.Add(faultproxy.Rule{Times: 1, Do: c.outage})
			if _, err := client.LoadRecord(t.Context(), shop); err != nil {
				t.Fatal(err)
			}
			now = now.Add(c.later)
			p.Add(faultproxy.Rule{Times: 3, Do: c.refuses})
			if _, err := client.LoadRecord(t.Context(), shop); (err == nil) != c.lets {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// The record is written before and after every rollout; an answer that is lost must not look like
// somebody else's change.
func TestTheRecordIsSavedThoughEveryFirstAnswerIsLost(t *testing.T) {
	server := newRecordServer()
	upstream := httptest.NewServer(server)
	defer upstream.Close()
	p, err := faultproxy.Start(&rest.Config{Host: upstream.URL}, faultproxy.Options{Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	lost := p.Add(faultproxy.Rule{On: faultproxy.Writes("configmaps"), PerObject: true, Times: 2, Do: faultproxy.LoseAnswer()})
	client, err := New(&rest.Config{Host: p.URL()}, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	client.retry.sleep = func(context.Context, time.Duration) error { return nil }
	record := &Record{Token: "t", State: StateCreating}
	for _, state := range []State{StateCreating, StateComplete} {
		record.State = state
		if err := client.SaveRecord(t.Context(), shop, record); err != nil {
			t.Fatal(err)
		}
		again, err := client.LoadRecord(t.Context(), shop)
		if err != nil || again == nil || again.State != state {
			t.Errorf("what is stored is %v, %v", again, err)
		}
	}
	if lost.Hits() != 4 {
		t.Errorf("%d answers were lost", lost.Hits())
	}

	// What somebody else has written is a conflict still.
	server.change()
	if err := client.SaveRecord(t.Context(), shop, record); !errors.Is(err, ErrConflict) {
		t.Errorf("over a change of somebody else: %v", err)
	}
	if err := client.SaveRecord(t.Context(), shop, &Record{Token: "other"}); !errors.Is(err, ErrConflict) {
		t.Errorf("a second record: %v", err)
	}
}

// recordServer is an API server for ConfigMaps.
type recordServer struct {
	mu      sync.Mutex
	version int
	maps    map[string]map[string]any
}

func newRecordServer() *recordServer { return &recordServer{maps: map[string]map[string]any{}} }

// change is that of somebody else, to all.
func (s *recordServer) change() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cm := range s.maps {
		s.store(cm)
		dict(cm, "data")["changed"] = "yes"
	}
}

func (s *recordServer) store(cm map[string]any) {
	s.version++
	dict(cm, "metadata")["resourceVersion"] = strconv.Itoa(s.version)
	s.maps[text(cm, "metadata", "name")] = cm
}

func (s *recordServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	refuse := func(err *apierrors.StatusError) {
		w.WriteHeader(int(err.ErrStatus.Code))
		_ = json.NewEncoder(w).Encode(err.ErrStatus)
	}
	kind := configMaps.GroupResource()
	name := path.Base(r.URL.Path)
	var sent map[string]any
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			panic(err)
		}
		name = text(sent, "metadata", "name")
	}
	found := s.maps[name]
	switch {
	case r.Method == http.MethodPost && found != nil:
		refuse(apierrors.NewAlreadyExists(kind, name))
		return
	case r.Method != http.MethodPost && found == nil:
		refuse(apierrors.NewNotFound(kind, name))
		return
	case r.Method == http.MethodPut && text(sent, "metadata", "resourceVersion") != text(found, "metadata", "resourceVersion"):
		refuse(apierrors.NewConflict(kind, name, errors.New("modified")))
		return
	case r.Method != http.MethodGet:
		s.store(sent)
	}
	_ = json.NewEncoder(w).Encode(s.maps[name])
}
