package argocd

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// answerTimeout is how long one request may take, its whole answer included; of a watch, until it
// begins. An API server gives up most requests after a minute itself, but something between may
// swallow them for ever.
const answerTimeout = 30 * time.Second

// answerLimit is a transport that waits for answers only so long.
type answerLimit struct {
	next    http.RoundTripper
	timeout time.Duration
}

func limitAnswers(next http.RoundTripper) http.RoundTripper {
	return &answerLimit{next: next, timeout: answerTimeout}
}

// noAnswerError is a timeout to all who ask: see net.Error.
type noAnswerError struct{ waited time.Duration }

func (e *noAnswerError) Error() string { return fmt.Sprintf("no answer within %s", e.waited) }
func (e *noAnswerError) Timeout() bool { return true }

// Temporary belongs to net.Error.
func (e *noAnswerError) Temporary() bool { return true }

func (l *answerLimit) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	tooLate := &noAnswerError{l.timeout}
	timer := time.AfterFunc(l.timeout, func() { cancel(tooLate) })
	end := func() {
		timer.Stop()
		cancel(nil)
	}
	response, err := l.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		if context.Cause(ctx) == error(tooLate) {
			err = tooLate
		}
		end()
		return nil, err
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
