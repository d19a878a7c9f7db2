package inputs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// memo remembers answers. Its zero value is empty, and remembers all of them.
type memo[K comparable, V any] struct {
	// size is how many bytes an answer takes, and limit how many all may take that are remembered. Those that were
	// used least recently are forgotten first. Nil: all are remembered.
	size  func(V) int64
	limit int64

	mu     sync.Mutex
	closed bool
	cells  map[K]*cell[V]
	// held is how many bytes those of recent take, which are the answers with a size, the last one used most recently.
	held   int64
	recent []K
}

// cell is an answer, or what becomes it.
type cell[V any] struct {
	done  chan struct{}
	value V
	err   error
	// givenUp: it is no answer, for who asked did not wait for it.
	givenUp bool
}

// errClosed is why nothing is answered after close.
var errClosed = errors.New("everything is closed already")

// get asks once for each key; who asks at the same time waits, for as long as ctx allows.
func (m *memo[K, V]) get(ctx context.Context, key K, ask func() (V, error)) (V, error) {
	var none V
	for {
		c, first := m.cell(key)
		switch {
		case c == nil:
			return none, errClosed
		case first:
			m.answer(ctx, key, c, ask)
			return c.value, c.err
		}
		select {
		case <-ctx.Done():
			return none, fmt.Errorf("waiting for what another generator asks for as well: %w", ctx.Err())
		case <-c.done:
		}
		// Who asked first may have given up; who asks now has not.
		if !c.givenUp {
			return c.value, c.err
		}
	}
}

// cell is the one of a key, and whether it is a new one, for which the caller has to ask; nil after close.
func (m *memo[K, V]) cell(key K) (c *cell[V], first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, false
	}
	if c = m.cells[key]; c != nil {
		if i := slices.Index(m.recent, key); i >= 0 {
			m.recent = append(slices.Delete(m.recent, i, i+1), key)
		}
		return c, false
	}
	if m.cells == nil {
		m.cells = map[K]*cell[V]{}
	}
	c = &cell[V]{done: make(chan struct{})}
	m.cells[key] = c
	return c, true
}

// answer asks for a new cell. One that is given up, also by a panic, is forgotten at once.
func (m *memo[K, V]) answer(ctx context.Context, key K, c *cell[V], ask func() (V, error)) {
	c.givenUp = true
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		defer close(c.done)
		switch {
		case m.cells[key] != c: // closed meanwhile
		case c.givenUp:
			delete(m.cells, key)
		case m.size != nil && c.err == nil:
			m.keep(key, m.size(c.value))
		}
	}()
	c.value, c.err = ask()
	c.givenUp = c.err != nil && ctx.Err() != nil
}

// keep counts a new answer, and forgets as many as are too much: perhaps that one, too.
func (m *memo[K, V]) keep(key K, size int64) {
	m.recent, m.held = append(m.recent, key), m.held+size
	for m.held > m.limit {
		oldest := m.recent[0]
		m.held -= m.size(m.cells[oldest].value)
		delete(m.cells, oldest)
		m.recent = slices.Delete(m.recent, 0, 1)
	}
}

// close forgets everything for good.
func (m *memo[K, V]) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.cells, m.recent, m.held = true, nil, nil, 0
}
