package argocd

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	// answerTimeout is how long one request may take, its whole answer included. An API server gives
	// up most requests after a minute itself, but something between may swallow them for ever.
	answerTimeout = 30 * time.Second
	// watchTimeout is how long a watch may take to begin.
	watchTimeout = 10 * time.Second
	// longestRetryAfter is how many seconds a server can make client-go wait before it repeats a request,
	// which it does up to ten times on its own, before anything here hears of it.
	longestRetryAfter = 10
)

// settleTime is for how long after a failure to reach it an API server may refuse what is granted: one
// that has just started answers before it has read its Roles and ServiceAccounts. Seen: 403 for
// some seconds after a restart of kube-apiserver 1.34.
const settleTime = 30 * time.Second

// outages remembers when the API server was last not reached.
type outages struct {
	now  func() time.Time
	last atomic.Int64 // in nanoseconds since 1970, zero for never
}

func (o *outages) note() { o.last.Store(o.now().UnixNano()) }

// recent tells that refusals may be those of an API server that has just come back.
func (o *outages) recent() bool {
	last := o.last.Load()
	return last != 0 && o.now().Sub(time.Unix(0, last)) < settleTime
}

const retryAfter = "Retry-After"

// answerLimit is a transport that waits for answers only so long.
type answerLimit struct {
	next           http.RoundTripper
	timeout, watch time.Duration
	outages        *outages
}

// limit makes the transport of a client one with limits.
func (o *outages) limit(next http.RoundTripper) http.RoundTripper {
	return &answerLimit{next: next, timeout: answerTimeout, watch: watchTimeout, outages: o}
}

// noAnswerError is a timeout to all who ask: see net.Error.
type noAnswerError struct{ waited time.Duration }

func (e *noAnswerError) Error() string {
	if e.waited == 0 {
		return "not sent, as it had waited too long for its turn"
	}
	return fmt.Sprintf("no answer within %s", e.waited.Round(time.Millisecond))
}
func (e *noAnswerError) Timeout() bool { return true }

// Temporary belongs to net.Error.
func (e *noAnswerError) Temporary() bool { return true }

func (l *answerLimit) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	timeout := l.timeout
	if isWatch(r) {
		timeout = l.watch
	}
	if lease := leaseOf(ctx); lease != nil { // what arrives later might arrive among the writes of the next holder
		timeout = max(0, min(timeout, lease.left()))
	}
	tooLate := &noAnswerError{timeout}
	if timeout == 0 {
		cancel(tooLate)
		if r.Body != nil {
			_ = r.Body.Close() // as a transport has to, whatever happens
		}
		return nil, tooLate
	}
	timer := time.AfterFunc(timeout, func() { cancel(tooLate) })
	end := func() {
		timer.Stop()
		cancel(nil)
	}
	response, err := l.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		if r.Context().Err() == nil {
			l.outages.note()
		}
		if context.Cause(ctx) == error(tooLate) {
			err = tooLate
		}
		end()
		return nil, err
	}
	switch response.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		l.outages.note()
	}
	if seconds, err := strconv.Atoi(response.Header.Get(retryAfter)); err == nil && seconds > longestRetryAfter {
		response.Header.Set(retryAfter, strconv.Itoa(longestRetryAfter))
	}
	if isWatch(r) {
		timer.Stop()
	}
	response.Body = &limitedBody{ReadCloser: response.Body, ctx: ctx, tooLate: tooLate, end: end}
	return response, nil
}

// WrappedRoundTripper is for client-go, which looks through wrappers.
func (l *answerLimit) WrappedRoundTripper() http.RoundTripper { return l.next }

func isWatch(r *http.Request) bool {
	watch := r.URL.Query().Get("watch")
	return watch == "true" || watch == "1"
}

// limitedBody ends with the request's time.
type limitedBody struct {
	io.ReadCloser
	ctx     context.Context
	tooLate *noAnswerError
	end     func()
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF && context.Cause(b.ctx) == error(b.tooLate) {
		err = b.tooLate
	}
	return n, err
}

func (b *limitedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
