// Package gitsource reads the tree of one commit of a git repository: which directories and files
// there are, and what is in a file.
//
// It owns the git protocol as far as that takes: finding the commit that a revision means, fetching
// that commit alone, and reading its objects. Nothing is ever checked out, so no name and no link in
// a repository can reach a file of this machine; what is fetched lies in one temporary file that has
// no name any more where the system allows that. Sizes, counts, depths and times are bounded, see
// limits.
//
// It must not know where credentials come from, nor what the files are for: no Kubernetes, no
// generators, no Terraform. No error of this package contains a credential.
package gitsource

import (
	"time"
)

// Repository is where to fetch from, and how to be let in. The zero value of a field means that it is
// not set.
type Repository struct {
	// URL is https://, http://, ssh://, file://, or user@host:path.
	URL string
	// Username and Password are for http and https; Username is "x-access-token" if only Password is set.
	Username, Password string
	// BearerToken is sent instead of Username and Password.
	BearerToken string
	// SSHPrivateKey is a private key without a passphrase, in PEM or OpenSSH's format.
	SSHPrivateKey string
	// KnownHosts are lines in the format of known_hosts. An SSH server that has none is refused.
	KnownHosts string
	// Insecure accepts every certificate and every SSH host key.
	Insecure bool
	// ClientCertificate and ClientKey are PEM, for servers that ask for a client certificate.
	ClientCertificate, ClientKey string
	// CertificateAuthorities are PEM; empty means those of the system.
	CertificateAuthorities string
	// Proxy is the URL of a proxy (http, https, socks5); empty means that of the environment. NoProxy
	// are the hosts that are reached directly, as in the variable NO_PROXY. SSH takes socks5 only.
	Proxy, NoProxy string
	// App authenticates as a GitHub App.
	App App
}

// App is a GitHub App.
type App struct {
	ID int64
	// InstallationID is found by the owner in the repository's URL if it is 0.
	InstallationID int64
	// PrivateKey is PEM.
	PrivateKey string
	// BaseURL is that of the API of GitHub Enterprise; empty means https://api.github.com.
	BaseURL string
	// CertificateAuthorities are those of the API's host, as in Repository.
	CertificateAuthorities string
}

// limits bound what one fetch may cost, whatever the server sends.
type limits struct {
	// refs is for being connected and told the references, fetch for all of one attempt.
	refs, fetch time.Duration
	// attempts is how often what may pass is tried, with delay before the second one, then twice that.
	attempts int
	delay    time.Duration
	// advertisement is how many bytes the list of references may have, pack how many the objects.
	advertisement, pack int64
	// objects is how many there may be in a pack; entries how many files and directories in a tree.
	objects, entries int
	// object is how large one may be that must be held in memory, held how much is held at once.
	object, held int64
	// file is how large a file may be that is read.
	file int64
	// names is how many bytes all paths may have together, path how many one, depth how deep it may be.
	names, path, depth int
	// links is how many symbolic links are followed for one file.
	links int
}

func defaultLimits() limits {
	return limits{
		refs: time.Minute, fetch: 5 * time.Minute,
		attempts: 3, delay: time.Second,
		advertisement: 64 << 20, pack: 2 << 30,
		objects: 2_000_000, entries: 500_000,
		object: 32 << 20, held: 128 << 20,
		file:  10 << 20,
		names: 64 << 20, path: 4096, depth: 512,
		links: 40,
	}
}
