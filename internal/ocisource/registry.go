package ocisource

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/gitsource"
)

const (
	scheme = "oci://"
	agent  = "terraform-provider-argocdprogressive"
)

// connect prepares the conversation with a registry; nothing is asked yet. Every repository has a client of its own:
// nothing that was set up for one of them, and no token, is ever used for another.
func connect(r Repository, l limits) (_ *remote.Repository, done func(), _ error) {
	name, ok := strings.CutPrefix(r.URL, scheme)
	if !ok {
		return nil, nil, gitsource.Fail(gitsource.Invalid, "the URL of an artifact begins with %s", scheme)
	}
	repository, err := remote.NewRepository(name)
	if err != nil {
		return nil, nil, gitsource.Fail(gitsource.Invalid, "the URL cannot be used: it is %sHOST/NAME, with a name in small letters, e.g. %sghcr.io/infra-team/manifests", scheme, scheme)
	}
	own, err := r.Transport()
	if err != nil {
		return nil, nil, err
	}
	// Who else is asked, for a token or because of a redirect, must not see the client certificate.
	stranger := r.Repository
	stranger.ClientCertificate, stranger.ClientKey = "", ""
	others, err := stranger.Transport()
	if err != nil {
		return nil, nil, err
	}
	own.ResponseHeaderTimeout, others.ResponseHeaderTimeout = l.answer, l.answer
	repository.PlainHTTP, repository.TagListMaxPages = r.PlainHTTP, l.tagPages
	client := &auth.Client{
		Client: &http.Client{
			Transport: &retry.Transport{
				Base: byHost{repository.Reference.Host(), own, others},
				Policy: func() retry.Policy {
					const growth, jitter, most = 2, 0.1, 10 * time.Second
					return &retry.GenericPolicy{
						Retryable: retry.DefaultPredicate, Backoff: retry.ExponentialBackoff(l.pause, growth, jitter),
						MinWait: l.pause, MaxWait: max(most, l.pause), MaxRetry: l.retries,
					}
				},
			},
			CheckRedirect: mayRedirect,
		},
		Cache:      auth.NewCache(),
		Credential: auth.StaticCredential(repository.Reference.Registry, auth.Credential{Username: r.Username, Password: r.Password}),
	}
	client.SetUserAgent(agent)
	repository.Client = client
	return repository, func() { own.CloseIdleConnections(); others.CloseIdleConnections() }, nil
}

// byHost is how the host of a registry is reached, and how all others are.
type byHost struct {
	host        string
	own, others http.RoundTripper
}

func (b byHost) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.EqualFold(request.URL.Host, b.host) {
		return b.own.RoundTrip(request)
	}
	return b.others.RoundTrip(request)
}

// redirect is a redirect that is not followed.
type redirect struct{ text string }

func (r *redirect) Error() string { return r.text }

// mayRedirect follows redirects, for registries keep their content elsewhere, but never from TLS to plain http, and
// sends credentials to the first host alone.
func mayRedirect(next *http.Request, via []*http.Request) error {
	const most = 5
	last := via[len(via)-1].URL
	switch {
	case len(via) > most:
		return &redirect{fmt.Sprintf("the registry redirects more than %d times", most)}
	case next.URL.Scheme != "https" && (next.URL.Scheme != "http" || last.Scheme == "https"):
		return &redirect{fmt.Sprintf("the registry redirects from %s to %s://%s: that is not followed", last.Scheme, next.URL.Scheme, next.URL.Host)}
	}
	for _, step := range append(via[1:len(via):len(via)], next) {
		if !gitsource.SameHost(via[0].URL, step.URL) {
			next.Header.Del("Authorization")
		}
	}
	return nil
}

// queries are what addresses end in that a registry has signed: they let anybody in.
var queries = regexp.MustCompile(`\?[^\s"]+`)

// explain says what an error of a registry means; missing is what is not there if it is that.
func explain(err error, missing string) error {
	var answer *errcode.ErrorResponse
	var refused *redirect
	var address *url.Error
	switch {
	case gitsource.Explained(err):
		return err
	case errors.As(err, &answer):
		return rejected(answer)
	case errors.As(err, &refused):
		return gitsource.Fail(gitsource.Invalid, "%s", refused.text)
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return gitsource.Fail(gitsource.Authentication, "the registry wants credentials")
	case errors.Is(err, errdef.ErrNotFound):
		return gitsource.Fail(gitsource.Missing, "%s, or there is no such repository, or the credentials may not see it", missing)
	case errors.Is(err, errdef.ErrInvalidReference):
		return gitsource.Fail(gitsource.Revision, "%s: this is neither a tag nor a digest", missing)
	case errors.Is(err, errdef.ErrTooManyPages):
		return gitsource.Fail(gitsource.TooLarge, "its list of tags has no end")
	case errors.Is(err, content.ErrMismatchedDigest), errors.Is(err, content.ErrTrailingData):
		return gitsource.Fail(gitsource.Invalid, "what the registry sent is not what its digest says")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return gitsource.Fail(gitsource.Unreachable, "what the registry sent ends in the middle")
	case errors.As(err, &address):
		return gitsource.Unreached(err)
	}
	return gitsource.Fail(gitsource.Other, "%s", queries.ReplaceAllString(err.Error(), "?(hidden)"))
}

// rejected is why a registry does not give what it was asked for.
func rejected(answer *errcode.ErrorResponse) error {
	said := ""
	if len(answer.Errors) > 0 {
		said = ": " + gitsource.OneLine(answer.Errors.Error(), 300)
	}
	switch code := answer.StatusCode; {
	case code == http.StatusUnauthorized:
		return gitsource.Fail(gitsource.Authentication, "the registry wants credentials, or other ones (401)%s", said)
	case code == http.StatusForbidden:
		return gitsource.Fail(gitsource.Authentication, "the credentials may not read it (403)%s", said)
	case code == http.StatusNotFound:
		return gitsource.Fail(gitsource.Missing, "there is no such repository, or the credentials may not see it (404)%s", said)
	case code == http.StatusTooManyRequests || code >= http.StatusInternalServerError:
		return gitsource.Fail(gitsource.Unreachable, "the registry answered %d %s%s", code, http.StatusText(code), said)
	}
	return gitsource.Fail(gitsource.Other, "the registry answered %d %s%s", answer.StatusCode, http.StatusText(answer.StatusCode), said)
}
