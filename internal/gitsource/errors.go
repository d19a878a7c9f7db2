package gitsource

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Kind is what a fetch failed for, as far as it helps to say what to do.
type Kind int

// The kinds.
const (
	// Other is none of the others.
	Other Kind = iota
	// Authentication: the server wants credentials, or does not accept those it got.
	Authentication
	// Missing: there is no such repository, or the credentials may not see it.
	Missing
	// Revision: the repository is there, but not the revision.
	Revision
	// HostKey: the SSH server has a key that is not known, or another one than is known.
	HostKey
	// Certificate: the server's TLS certificate is not trusted.
	Certificate
	// NoHost: the name of the server is not known where this runs.
	NoHost
	// Unreachable: the server did not answer, or not to the end.
	Unreachable
	// Invalid: what was asked for, or what the server sent, makes no sense.
	Invalid
	// TooLarge: a limit is exceeded.
	TooLarge
)

// Error is why something could not be fetched or read. Its text contains no credentials.
type Error struct {
	Kind Kind
	// Host is the server's, with the port if the URL has one; empty for file://.
	Host string
	text string
	// transient tells that the same may succeed a little later.
	transient bool
	// cause is that of a context only: other causes may contain anything.
	cause error
}

func (e *Error) Error() string { return e.text }

// Unwrap is context.Canceled or context.DeadlineExceeded, or nil.
func (e *Error) Unwrap() error { return e.cause }

// failure is an error within a fetch, before it is told to which repository it belongs.
type failure struct {
	kind      Kind
	text      string
	transient bool
}

func (f *failure) Error() string { return f.text }

func fail(kind Kind, format string, args ...any) error {
	return &failure{kind: kind, text: fmt.Sprintf(format, args...)}
}

// passing is fail for what may be different a little later.
func passing(kind Kind, format string, args ...any) error {
	return &failure{kind: kind, text: fmt.Sprintf(format, args...), transient: true}
}

// wrap makes err that of a repository, without its credentials. ctx is that of the caller: when it has
// ended, that is the reason, whatever else was noticed of it.
func (r Repository) wrap(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Host: hostOf(r.URL)}
	text := err.Error()
	var f *failure
	switch {
	case ctx.Err() != nil:
		e.Kind, e.cause, text = Unreachable, ctx.Err(), "it was given up, because everything was cancelled"
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			text = "it was given up, because the time for everything is over"
		}
	case errors.As(err, &f):
		e.Kind, text, e.transient = f.kind, f.text, f.transient
	}
	e.text = fmt.Sprintf("%s of the repository %s: %s", doing, SafeURL(r.URL), r.scrub(text))
	return e
}

// hidden is what stands for a credential.
const hidden = "(hidden)"

// scrub removes the credentials of the repository from a text, and makes one line of it.
func (r Repository) scrub(text string) string {
	text = OneLine(text, 4000)
	for _, secret := range r.secrets() {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	return OneLine(text, 600)
}

// shortestLine is how long a line of a key is at least that is looked for by itself, and a name in a
// URL that may be a token.
const shortestLine = 8

// secrets are the texts that must not be printed, longest first.
func (r Repository) secrets() []string {
	var found []string
	add := func(values ...string) {
		for _, v := range values {
			if v = strings.TrimSpace(v); v == "" {
				continue
			}
			found = append(found, v, OneLine(v, len(v)), url.QueryEscape(v), url.PathEscape(v), strings.Trim(strconv.Quote(v), `"`),
				base64.StdEncoding.EncodeToString([]byte(v)))
		}
	}
	add(r.Password, r.BearerToken, r.SSHPrivateKey, r.ClientKey, r.App.PrivateKey)
	if r.Password != "" {
		add(r.Username+":"+r.Password, basicUser+":"+r.Password)
	}
	for _, raw := range []string{r.URL, r.Proxy, r.App.BaseURL} {
		name, password, both := strings.Cut(userinfo(raw), ":")
		if !both && !sshLike(raw) && len(name) >= shortestLine {
			password = name
		}
		add(password)
		if plain, err := url.PathUnescape(password); err == nil {
			add(plain)
			if plainName, err := url.PathUnescape(name); err == nil && plain != "" {
				add(plainName + ":" + plain)
			}
		}
	}
	for _, key := range []string{r.SSHPrivateKey, r.ClientKey, r.App.PrivateKey} {
		for line := range strings.Lines(key) {
			if line = strings.TrimSpace(line); len(line) >= shortestLine && !strings.HasPrefix(line, "-----") {
				add(line)
			}
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(found)
}

// OneLine is what others have said, in at most limit bytes, without control characters.
func OneLine(text string, limit int) string {
	text = strings.Map(func(c rune) rune {
		switch {
		case unicode.IsSpace(c):
			return ' '
		case !unicode.IsPrint(c):
			return '.'
		}
		return c
	}, strings.TrimSpace(text))
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "..."
	}
	return text
}
