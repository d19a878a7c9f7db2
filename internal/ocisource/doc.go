// Package ocisource reads the content of one artifact in an OCI registry: which directories and files there
// are, and what is in a file.
//
// It owns what a revision means in a registry, which artifacts Argo CD takes, how the archive in one is
// read, and which of its files a pattern means. The protocol itself is that of oras.land/oras-go, which
// Argo CD uses as well. Nothing is ever unpacked, so no name and no link in an archive can reach a file of
// this machine; what is read is held in memory. Sizes, counts, depths and times are bounded, see limits.
//
// How a server is reached, and what is said of it when it fails, is that of package gitsource. Like that one
// it must not know where credentials come from, nor what the files are for: no Kubernetes, no generators,
// no Terraform. No error of this package contains a credential.
package ocisource

import (
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/gitsource"
)

// Repository is where artifacts are, and how to be let in.
type Repository struct {
	// Repository has the URL, oci://HOST/NAME, and how its host is reached. Username and Password count
	// together only; tokens, SSH keys and GitHub Apps mean nothing to a registry.
	gitsource.Repository
	// PlainHTTP: the registry does not speak TLS.
	PlainHTTP bool
}

// limits bound what one fetch may cost, whatever the registry sends.
type limits struct {
	// fetch is for all of it, answer for the beginning of one answer.
	fetch, answer time.Duration
	// retries is how often a request is repeated that the registry is too busy for, pause how long at least
	// before that.
	retries int
	pause   time.Duration
	// manifest is how many bytes one may have, tags how many of them are looked at, tagPages in how many answers.
	manifest       int64
	tags, tagPages int
	// layers is how many an artifact may have.
	layers int
	// layer is how many bytes may be downloaded, archive how many there may be after decompression.
	layer, archive int64
	// file is how large a file may be that is read, held how much of all files together.
	file, held int64
	// entries is how many files and directories there may be, looked how many of them, and of the parts of their
	// paths, one pattern may look at.
	entries, looked int
	// names is how many bytes all paths may have together, path how many one, depth how deep it may be.
	names, path, depth int
	// links is how many symbolic links are followed for one path, as many as os.Root follows.
	links int
	// choices is how many patterns the {a,b} of one pattern may make.
	choices float64
}

func defaultLimits() limits {
	return limits{
		fetch: 5 * time.Minute, answer: time.Minute,
		retries: 3, pause: time.Second,
		manifest: 4 << 20,
		tags:     1_000_000, tagPages: 10_000,
		layers: 10,
		layer:  1_000_000_000, archive: 1_000_000_000,
		file: 10 << 20, held: 128 << 20,
		entries: 500_000, looked: 10_000_000,
		names: 64 << 20, path: 4096, depth: 512,
		links:   8,
		choices: 1000,
	}
}
