package inputs

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

const (
	// shortestHidden is how long a secret is at least that is looked for in texts, in bytes: a shorter one
	// is a part of words.
	shortestHidden = 6
	// shortestToken is how long a token is at least that a plugin must not give back.
	shortestToken = 12
)

// hidden are the secrets that were read.
type hidden struct {
	mu sync.Mutex
	// values are sorted, longest first: one may be a part of another.
	values []string
}

func (h *hidden) add(value string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if value = strings.TrimSpace(value); len(value) < shortestHidden || slices.Contains(h.values, value) {
		return
	}
	h.values = append(h.values, value)
	slices.SortStableFunc(h.values, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
}

// Redact hides the tokens, passwords and keys that were read from Secrets.
func (in *Inputs) Redact(text string) string {
	in.hidden.mu.Lock()
	defer in.hidden.mu.Unlock()
	for _, value := range in.hidden.values {
		text = strings.ReplaceAll(text, value, "(hidden)")
	}
	return text
}
