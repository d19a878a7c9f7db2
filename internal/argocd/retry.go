package argocd

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"golang.org/x/net/http2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

const (
	// requestPatience bounds the retries of one request: an API server may restart in a rollout.
	requestPatience = time.Minute
	// firstPatience is that of the first request, when nothing is under way yet.
	firstPatience = 10 * time.Second
	firstDelay    = 100 * time.Millisecond
	longestDelay  = 5 * time.Second
)

// retrier repeats requests that failed for a reason that may pass. Time is injected for tests.
type retrier struct {
	now   func() time.Time
	sleep func(context.Context, time.Duration) error
	// jitter spreads a delay: it returns between half of it and all of it.
	jitter func(time.Duration) time.Duration
	// unsettled tells that the API server may refuse what is granted; nil means never.
	unsettled func() bool
}

func newRetrier(o *outages) retrier {
	return retrier{now: time.Now, sleep: sleep, jitter: jitter, unsettled: o.recent}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// do runs f until it succeeds, fails for good, or patience has passed. It returns the
// failure of the last try, never that of its own waiting.
func (r retrier) do(ctx context.Context, patience time.Duration, f func() error) error {
	deadline := r.now().Add(patience)
	renewed := false
	for delay := firstDelay; ; delay = min(2*delay, longestDelay) {
		err := f()
		switch {
		case err == nil, ctx.Err() != nil, isStale(err):
			return err
		case apierrors.IsUnauthorized(err) && !renewed:
			// client-go renews the credentials of an exec command after a 401, but leaves it to
			// the caller to ask again.
			renewed = true
		case (apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)) && r.unsettled != nil && r.unsettled():
		case !transient(err):
			return err
		}
		wait := r.jitter(delay)
		if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
			wait = time.Duration(seconds) * time.Second
		}
		if r.now().Add(wait).After(deadline) || r.sleep(ctx, wait) != nil {
			return err
		}
	}
}

// transient tells whether the same request may succeed a little later.
func transient(err error) bool {
	if isStale(err) {
		return false
	}
	if apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) {
		return true
	}
	if _, ok := apierrors.SuggestsClientDelay(err); ok {
		return true
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code >= 500
	}
	return connectionLost(err)
}

// connectionLost tells that no whole answer came.
func connectionLost(err error) bool {
	if utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) ||
		utilnet.IsTimeout(err) || utilnet.IsHTTP2ConnectionLost(err) || errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	var op *net.OpError
	var stream http2.StreamError
	var away http2.GoAwayError
	return errors.As(err, &op) || errors.As(err, &stream) || errors.As(err, &away) || cutShort(err)
}

// cutShort tells that the end of an answer is missing though the connection did not say so.
func cutShort(err error) bool {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return true
	}
	// client-go keeps only the text of the decoder's error.
	return err != nil && strings.Contains(err.Error(), "unexpected end of JSON input")
}
