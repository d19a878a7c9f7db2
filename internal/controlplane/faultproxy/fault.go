package faultproxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Fault is what becomes of a request that a rule hits; forward sends it to the API server and
// passes the answer on.
type Fault func(w http.ResponseWriter, r *http.Request, forward http.HandlerFunc)

// Answer answers with a Status in the API server's own form, and forwards nothing.
func Answer(code int, reason metav1.StatusReason, message string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		answer(w, metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message})
	}
}

// TooManyRequests answers 429 with a Retry-After of so many seconds.
func TooManyRequests(seconds int) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		answer(w, apierrors.NewTooManyRequests("too many requests, please try again later", seconds).ErrStatus)
	}
}

// Conflict answers 409 as if the object had been changed meanwhile.
func Conflict() Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
		_, resource, name := parse(r)
		answer(w, apierrors.NewConflict(schema.GroupResource{Resource: resource}, name, fmt.Errorf("the object has been modified")).ErrStatus)
	}
}

// Gone answers 410, as the API server does to a watch from too old a version.
func Gone() Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) { answer(w, expired()) }
}

// Page answers with a page of HTML, as a load balancer does that reaches no API server.
func Page(code int) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, "<html><head><title>%d %s</title></head></html>\n", code, http.StatusText(code))
	}
}

// Delay forwards the request after some time, unless the client has left by then.
func Delay(d time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, forward http.HandlerFunc) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			forward(w, r)
		case <-r.Context().Done():
		}
	}
}

// Hang neither forwards nor answers until the client leaves.
func Hang() Fault {
	return func(_ http.ResponseWriter, r *http.Request, _ http.HandlerFunc) { <-r.Context().Done() }
}

// Reset ends the connection (over HTTP/2: the stream) before the request is forwarded.
func Reset() Fault {
	return func(http.ResponseWriter, *http.Request, http.HandlerFunc) { panic(http.ErrAbortHandler) }
}

// LoseAnswer forwards the request and then ends the connection (over HTTP/2: the stream) instead of
// answering: what was asked for was done, and the client cannot know.
func LoseAnswer() Fault {
	return func(_ http.ResponseWriter, r *http.Request, forward http.HandlerFunc) {
		forward(newKept(), r)
		panic(http.ErrAbortHandler)
	}
}

// HangAfter forwards the request and then does not answer until the client leaves.
func HangAfter() Fault {
	return func(_ http.ResponseWriter, r *http.Request, forward http.HandlerFunc) {
		forward(newKept(), r)
		<-r.Context().Done()
	}
}

// Truncate passes on half of the answer, and ends it as if it were whole.
func Truncate() Fault {
	return func(w http.ResponseWriter, r *http.Request, forward http.HandlerFunc) { half(w, r, forward) }
}

// Cut passes on half of the answer, and then ends the connection (over HTTP/2: the stream).
func Cut() Fault {
	return func(w http.ResponseWriter, r *http.Request, forward http.HandlerFunc) {
		half(w, r, forward)
		panic(http.ErrAbortHandler)
	}
}

func half(w http.ResponseWriter, r *http.Request, forward http.HandlerFunc) {
	r.Header.Set("Accept-Encoding", "identity")
	k := newKept()
	forward(k, r)
	for name, values := range k.header {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(k.code)
	_, _ = w.Write(k.body.Bytes()[:k.body.Len()/2])
	_ = http.NewResponseController(w).Flush()
}

// kept is an answer that is not passed on, or not as it is.
type kept struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func newKept() *kept { return &kept{header: http.Header{}, code: http.StatusOK} }

func (k *kept) Header() http.Header         { return k.header }
func (k *kept) WriteHeader(code int)        { k.code = code }
func (k *kept) Write(b []byte) (int, error) { return k.body.Write(b) }

func expired() metav1.Status {
	return apierrors.NewResourceExpired("too old resource version: 1 (2)").ErrStatus
}

func answer(w http.ResponseWriter, s metav1.Status) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(s.Code))
	_, _ = w.Write(encode(s))
}

func encode(s metav1.Status) []byte {
	s.Kind, s.APIVersion, s.Status = "Status", "v1", metav1.StatusFailure
	encoded, err := json.Marshal(s)
	if err != nil {
		panic(err) // no Status is without an encoding
	}
	return encoded
}
