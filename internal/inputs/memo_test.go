package inputs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// answered is what a get has come to.
type answered struct {
	value string
	err   error
}

// asks begins a get, and gives what it comes to.
func asks(ctx context.Context, m *memo[string, string], ask func() (string, error)) <-chan answered {
	out := make(chan answered, 1)
	go func() {
		value, err := m.get(ctx, "key", ask)
		out <- answered{value, err}
	}()
	return out
}

// within fails where there is no answer for long.
func within(t *testing.T, what string, from <-chan answered) answered {
	t.Helper()
	select {
	case a := <-from:
		return a
	case <-time.After(20 * time.Second):
		t.Fatalf("%s has no answer", what)
		return answered{}
	}
}

func never() (string, error) { return "", errors.New("it was asked twice") }

func TestWhoWaitsForAnAnswerAndIsCancelledDoesNotWaitForIt(t *testing.T) {
	var m memo[string, string]
	begun, release := make(chan struct{}), make(chan struct{})
	first := asks(t.Context(), &m, func() (string, error) {
		close(begun)
		<-release
		return "the answer", nil
	})
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancelled, patient := asks(ctx, &m, never), asks(t.Context(), &m, never)
	cancel()
	if a := within(t, "who is cancelled", cancelled); !errors.Is(a.err, context.Canceled) || !strings.Contains(a.err.Error(), "waiting for what another generator asks for") {
		t.Errorf("who is cancelled gets %q, %v", a.value, a.err)
	}
	select {
	case a := <-patient:
		t.Errorf("who waits gets %q, %v before there is an answer", a.value, a.err)
	default:
	}
	close(release)
	for name, from := range map[string]<-chan answered{"who asked": first, "who waits": patient} {
		if a := within(t, name, from); a != (answered{"the answer", nil}) {
			t.Errorf("%s gets %q, %v", name, a.value, a.err)
		}
	}
}

func TestWhatWasGivenUpIsAskedAgain(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		// err is that of who asks first, whose context is cancelled meanwhile or not; again: the next one asks as well.
		err    error
		cancel bool
		again  bool
	}{
		"an error":                                 {broken, false, false},
		"an error after the end of who asked":      {broken, true, true},
		"an answer though who asked does not wait": {nil, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			var m memo[string, string]
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			begun, release := make(chan struct{}), make(chan struct{})
			first := asks(ctx, &m, func() (string, error) {
				close(begun)
				<-release
				return "first", c.err
			})
			<-begun
			waits := asks(t.Context(), &m, func() (string, error) { return "second", nil })
			if c.cancel {
				cancel()
			}
			close(release)
			if a := within(t, "who asked", first); a != (answered{"first", c.err}) {
				t.Errorf("who asked gets %q, %v", a.value, a.err)
			}
			want := answered{"first", c.err}
			if c.again {
				want = answered{"second", nil}
			}
			if a := within(t, "who waits", waits); a != want {
				t.Errorf("who waits gets %q, %v", a.value, a.err)
			}
			if value, err := m.get(t.Context(), "key", never); (answered{value, err}) != want {
				t.Errorf("who asks later gets %q, %v", value, err)
			}
		})
	}
}

func TestAPanicIsNoAnswer(t *testing.T) {
	var m memo[string, string]
	func() {
		defer func() { _ = recover() }()
		_, _ = m.get(t.Context(), "key", func() (string, error) { panic("a mistake") })
	}()
	if a := within(t, "who asks later", asks(t.Context(), &m, func() (string, error) { return "the answer", nil })); a != (answered{"the answer", nil}) {
		t.Errorf("who asks later gets %q, %v", a.value, a.err)
	}
}

func TestOfWhatIsLargeOnlyTheLastAnswersAreRemembered(t *testing.T) {
	m := memo[string, int64]{size: func(v int64) int64 { return v }, limit: 10}
	var asked []string
	get := func(key string, size int64, err error) {
		t.Helper()
		value, got := m.get(t.Context(), key, func() (int64, error) {
			asked = append(asked, key)
			return size, err
		})
		if value != size || !errors.Is(got, err) {
			t.Errorf("%s is %d, %v", key, value, got)
		}
		if m.held > m.limit || len(m.recent) > len(m.cells) {
			t.Errorf("after %s, %d bytes are held of %v, with %d answers", key, m.held, m.recent, len(m.cells))
		}
	}
	broken := errors.New("broken")
	get("a", 4, nil)
	get("b", 4, nil)
	get("error", 0, broken)
	get("a", 4, nil) // b is the oldest now
	get("c", 4, nil)
	get("a", 4, nil)
	get("b", 4, nil) // again, in the place of c
	get("a", 4, nil)
	get("huge", 11, nil) // not remembered, nor is anything else
	get("huge", 11, nil)
	get("a", 4, nil)
	get("error", 0, broken)
	if want := []string{"a", "b", "error", "c", "b", "huge", "huge", "a"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
	m.close()
	if m.held != 0 || len(m.cells)+len(m.recent) > 0 {
		t.Errorf("%d bytes are held after all, of %v", m.held, m.recent)
	}
	if _, err := m.get(t.Context(), "a", func() (int64, error) { return 4, nil }); !errors.Is(err, errClosed) {
		t.Errorf("after all, the answer is %v", err)
	}
}

func TestWhatIsAnsweredAfterTheEndIsNotRemembered(t *testing.T) {
	m := memo[string, string]{size: func(string) int64 { return 1 }, limit: 10}
	value, err := m.get(t.Context(), "key", func() (string, error) {
		m.close()
		return "the answer", nil
	})
	if value != "the answer" || err != nil || m.held != 0 || len(m.cells) > 0 {
		t.Errorf("got %q, %v; %d bytes are held", value, err, m.held)
	}
}

func TestManyWhoAskAtOnceNeverHoldTooMuch(t *testing.T) {
	m := memo[string, int64]{size: func(v int64) int64 { return v }, limit: 30}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for n := range 500 {
				size := int64((i+n)%9 + 1)
				if got, err := m.get(t.Context(), fmt.Sprint(size), func() (int64, error) { return size, nil }); got != size || err != nil {
					t.Errorf("%d is %d, %v", size, got, err)
				}
			}
		})
	}
	all.Wait()
	var held int64
	for _, key := range m.recent {
		held += m.cells[key].value
	}
	if held != m.held || held > m.limit || len(m.recent) != len(m.cells) {
		t.Errorf("%d bytes of %v are held, %d are counted; there are %d answers", held, m.recent, m.held, len(m.cells))
	}
}
