package gitsource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/bradleyfalzon/ghinstallation/v2"
)

const (
	githubAPI = "https://api.github.com"
	// listLimit is how many bytes a page of a list may have.
	listLimit = 4 << 20
)

// appToken is a token of the installation of a GitHub App, which is what Argo CD gives as a password.
func (r Repository) appToken(ctx context.Context, p place) (string, error) {
	transport, err := newTransport(r, r.App.CertificateAuthorities)
	if err != nil {
		return "", err
	}
	defer transport.CloseIdleConnections()
	app, err := ghinstallation.NewAppsTransport(unredirected{transport}, r.App.ID, []byte(r.App.PrivateKey))
	if err != nil {
		return "", fail(Authentication, "the private key of GitHub App %d cannot be read: it must be an RSA key in PEM", r.App.ID)
	}
	app.BaseURL = githubAPI
	if r.App.BaseURL != "" {
		app.BaseURL = strings.TrimRight(r.App.BaseURL, "/")
	}
	installation := r.App.InstallationID
	if installation == 0 {
		owner, _, _ := strings.Cut(strings.Trim(p.url.Path, "/"), "/")
		if installation, err = r.findInstallation(ctx, app, owner); err != nil {
			return "", err
		}
	}
	token, err := ghinstallation.NewFromAppsTransport(app, installation).Token(ctx)
	var answered *ghinstallation.HTTPError
	switch {
	case err == nil:
		return token, nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.As(err, &answered) && answered.Response != nil:
		defer answered.Response.Body.Close()
		return "", r.appRefused(answered.Response.StatusCode, fmt.Sprintf("a token for installation %d", installation))
	case errors.As(err, &answered) && answered.RootCause != nil:
		return "", unreached(answered.RootCause)
	}
	return "", fail(Other, "the API of GitHub gave no token for installation %d of GitHub App %d", installation, r.App.ID)
}

func (r Repository) appRefused(code int, what string) error {
	text := fmt.Sprintf("the API of GitHub refused GitHub App %d %s (%d)", r.App.ID, what, code)
	if code == http.StatusTooManyRequests || code >= 500 {
		return passing(Unreachable, "%s", text)
	}
	return fail(Authentication, "%s: compare the app's id, installation id and private key with its settings", text)
}

// findInstallation is where the app is installed for owner, as in DiscoverGitHubAppInstallationID
// (util/git/creds.go, Argo CD 3.6.1).
func (r Repository) findInstallation(ctx context.Context, app *ghinstallation.AppsTransport, owner string) (int64, error) {
	const perPage, pages = 100, 50
	for page := 1; page <= pages; page++ {
		address := fmt.Sprintf("%s/app/installations?per_page=%d&page=%d", app.BaseURL, perPage, page)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return 0, fail(Invalid, "the base URL of the API of GitHub cannot be used")
		}
		answer, err := app.RoundTrip(request)
		if err != nil {
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			return 0, unreached(err)
		}
		text, err := io.ReadAll(io.LimitReader(answer.Body, listLimit))
		if e := answer.Body.Close(); err == nil {
			err = e
		}
		if err != nil {
			return 0, passing(Unreachable, "the list of installations of GitHub App %d did not come to its end", r.App.ID)
		}
		if answer.StatusCode != http.StatusOK {
			return 0, r.appRefused(answer.StatusCode, "the list of its installations")
		}
		var listed []struct {
			ID      int64 `json:"id"`
			Account struct {
				Login string `json:"login"`
			} `json:"account"`
		}
		if err := json.Unmarshal(text, &listed); err != nil {
			return 0, fail(Invalid, "the list of installations of GitHub App %d cannot be read", r.App.ID)
		}
		for _, found := range listed {
			if strings.EqualFold(found.Account.Login, owner) {
				return found.ID, nil
			}
		}
		if len(listed) < perPage {
			break
		}
	}
	return 0, fail(Authentication, "GitHub App %d is not installed for %q", r.App.ID, owner)
}

// unredirected is a transport whose answers are never redirects: what signs a request would be sent along.
type unredirected struct{ next http.RoundTripper }

func (s unredirected) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := s.next.RoundTrip(request)
	if err == nil && answer.StatusCode >= 300 && answer.StatusCode < 400 {
		_ = answer.Body.Close()
		return nil, &redirect{"the API of GitHub redirects: set the base URL to where it is"}
	}
	return answer, err
}
