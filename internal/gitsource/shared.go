package gitsource

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// What follows is for a package that reaches repositories of another sort in the same way, with the same
// errors.

// Fail is an error of a kind, to be given to [Repository.Wrap].
func Fail(kind Kind, format string, args ...any) error { return fail(kind, format, args...) }

// Unreached is why an http client got no answer, to be given to [Repository.Wrap].
func Unreached(err error) error { return unreached(err) }

// Explained tells that an error is one of Fail or Unreached.
func Explained(err error) bool {
	var f *failure
	return errors.As(err, &f)
}

// Wrap makes err an *[Error] of the repository, of one line and without its credentials. ctx is that of the
// caller: when it has ended, that is the reason. Nil stays nil.
func (r Repository) Wrap(ctx context.Context, doing string, err error) error {
	return r.wrap(ctx, doing, err)
}

// Transport is a new one with the certificates and the proxy of the repository.
func (r Repository) Transport() (*http.Transport, error) {
	return newTransport(r, r.CertificateAuthorities)
}

// SameHost tells that credentials for from may be sent to to: it is the same server, perhaps with TLS now.
func SameHost(from, to *url.URL) bool { return sameHost(from, to) }
