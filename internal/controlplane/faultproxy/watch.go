package faultproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
)

// CloseAfter ends a watch in good order once it has passed so many events on.
func CloseAfter(events int) Fault {
	return watchUntil(events, nil)
}

// ExpireAfter ends a watch with an event of type ERROR that says 410, once it has passed so many
// events on.
func ExpireAfter(events int) Fault {
	return watchUntil(events, []byte(fmt.Sprintf(`{"type":"ERROR","object":%s}`+"\n", encode(expired()))))
}

// GarbleAfter passes half an event on after so many whole ones, and then ends the watch as if
// everything were in order.
func GarbleAfter(events int) Fault {
	return watchUntil(events, []byte(`{"type":"MODIFIED","object":{"apiVersion":"argoproj.io/v1alpha1","kind":"Appl`))
}

func watchUntil(events int, last []byte) Fault {
	return func(w http.ResponseWriter, r *http.Request, forward http.HandlerFunc) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		limited := &limitedWatch{ResponseWriter: w, left: events, end: cancel}
		if events == 0 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusOK)
		} else {
			untilEnd(func() { forward(limited, r.WithContext(ctx)) })
		}
		if r.Context().Err() == nil && limited.left == 0 {
			_, _ = w.Write(last)
		}
	}
}

// untilEnd runs a handler that ends by aborting when its upstream does.
func untilEnd(run func()) {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
	}()
	run()
}

var errEnough = errors.New("enough events")

// limitedWatch passes a number of events on: lines of JSON.
type limitedWatch struct {
	http.ResponseWriter
	left int
	end  func()
}

func (l *limitedWatch) Unwrap() http.ResponseWriter { return l.ResponseWriter }

func (l *limitedWatch) Write(b []byte) (int, error) {
	passed := 0
	for passed < len(b) && l.left > 0 {
		line := bytes.IndexByte(b[passed:], '\n')
		if line < 0 {
			passed = len(b)
			break
		}
		passed += line + 1
		l.left--
	}
	n, err := l.ResponseWriter.Write(b[:passed])
	if err == nil && l.left == 0 {
		l.end()
		err = errEnough
	}
	return n, err
}
