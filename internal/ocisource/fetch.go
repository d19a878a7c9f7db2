package ocisource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/gitsource"
)

// Fetch is the content of a revision: a tag, a digest, or a constraint on the versions that tags are. All errors are of
// the type *gitsource.Error.
func Fetch(ctx context.Context, r Repository, revision string) (*Tree, error) {
	return fetch(ctx, r, revision, defaultLimits())
}

func fetch(parent context.Context, r Repository, revision string, l limits) (*Tree, error) {
	ctx, cancel := context.WithTimeoutCause(parent, l.fetch, gitsource.Fail(gitsource.Unreachable, "it took more than %s", l.fetch))
	defer cancel()
	tree, err := read(ctx, r, revision, l)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return tree, r.Wrap(parent, fmt.Sprintf("fetching revision %q", revision), err)
}

func read(ctx context.Context, r Repository, revision string, l limits) (*Tree, error) {
	repository, done, err := connect(r, l)
	if err != nil {
		return nil, err
	}
	defer done()
	manifest, err := resolve(ctx, repository, revision, l)
	if err != nil {
		return nil, err
	}
	layer, err := contentLayer(ctx, repository, manifest, l)
	if err != nil {
		return nil, err
	}
	tree, err := readLayer(ctx, repository, layer, l)
	if err != nil {
		return nil, err
	}
	tree.digest = manifest.Digest.String()
	return tree, nil
}

// longestTag is how long a tag may be by the specification of the distribution of OCI artifacts.
const longestTag = 128

// resolve follows resolveRevision (util/oci/client.go, Argo CD 3.6.1): what the registry knows by the name goes
// first, then the highest tag that satisfies a constraint. In tags, "_" stands for the "+" of versions. Unlike
// there, a registry that fails is an error: a tag whose name is a constraint as well would be another artifact.
func resolve(ctx context.Context, repository *remote.Repository, revision string, l limits) (ocispec.Descriptor, error) {
	found, err := repository.Resolve(ctx, revision)
	if err == nil {
		return found, nil
	}
	absent := errors.Is(err, errdef.ErrNotFound) || errors.Is(err, errdef.ErrInvalidReference)
	if _, constraint := gitsource.HighestVersion(revision, nil); !constraint || !absent {
		return found, explain(err, fmt.Sprintf("it has no tag and no digest %q", revision))
	}
	var tags []string
	err = repository.Tags(ctx, "", func(page []string) error {
		for _, tag := range page {
			if len(tag) > longestTag {
				continue
			}
			tags = append(tags, strings.ReplaceAll(tag, "_", "+"))
		}
		if len(tags) > l.tags {
			return gitsource.Fail(gitsource.TooLarge, "it has more than %d tags", l.tags)
		}
		return nil
	})
	if err != nil {
		return found, explain(err, "it has no tags")
	}
	highest, _ := gitsource.HighestVersion(revision, tags)
	if highest == "" {
		return found, gitsource.Fail(gitsource.Revision, "none of its %d tags is a version that satisfies %q, and no tag has that name", len(tags), revision)
	}
	if found, err = repository.Resolve(ctx, highest); err != nil {
		return found, explain(err, fmt.Sprintf("%q satisfies %q, but there is no such tag", highest, revision))
	}
	return found, nil
}

// The media types that Argo CD takes unless its repo server is told otherwise (--oci-layer-media-types, Argo CD 3.6.1).
const (
	chartConfig = "application/vnd.cncf.helm.config.v1+json"
	chartLayer  = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

var layerTypes = []string{"application/vnd.oci.image.layer.v1.tar", "application/vnd.oci.image.layer.v1.tar+gzip", chartLayer}

// isContent follows isContentLayer (util/oci/client.go, Argo CD 3.6.1).
func isContent(mediaType string) bool {
	return isZipped(mediaType) || strings.HasSuffix(mediaType, "tar")
}

func isZipped(mediaType string) bool {
	return strings.HasSuffix(mediaType, "tar+gzip") || strings.HasSuffix(mediaType, "tar.gzip")
}

// contentLayer is the one layer that holds the content (extract in util/oci/client.go, Argo CD 3.6.1). Others, such as
// those with a provenance, do not count; of a chart only that of the chart does.
func contentLayer(ctx context.Context, repository *remote.Repository, manifest ocispec.Descriptor, l limits) (ocispec.Descriptor, error) {
	var found ocispec.Descriptor
	if manifest.Size > l.manifest {
		return found, gitsource.Fail(gitsource.TooLarge, "its manifest has more than %d MiB", l.manifest>>20)
	}
	body, err := repository.Manifests().Fetch(ctx, manifest)
	if err != nil {
		return found, explain(err, fmt.Sprintf("there is no manifest %s", manifest.Digest))
	}
	text, err := content.ReadAll(body, manifest)
	if e := body.Close(); err == nil {
		err = e
	}
	if err != nil {
		return found, explain(err, "")
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return found, gitsource.Fail(gitsource.Invalid, "its manifest %s is not JSON of the right form", manifest.Digest)
	}
	if len(m.Layers) > l.layers {
		return found, gitsource.Fail(gitsource.Invalid, "it has %d layers; Argo CD takes at most %d", len(m.Layers), l.layers)
	}
	count := 0
	for _, layer := range m.Layers {
		if !isContent(layer.MediaType) || m.Config.MediaType == chartConfig && layer.MediaType != chartLayer {
			continue
		}
		if !slices.Contains(layerTypes, layer.MediaType) {
			return found, gitsource.Fail(gitsource.Invalid, "it has a layer of the media type %s; Argo CD takes %s", gitsource.OneLine(layer.MediaType, 100), strings.Join(layerTypes, ", "))
		}
		found = layer
		count++
	}
	if count != 1 {
		return found, gitsource.Fail(gitsource.Invalid, "its manifest (%s) has %d layers with content; Argo CD takes exactly one, of the media type %s",
			gitsource.OneLine(manifest.MediaType, 100), count, strings.Join(layerTypes, " or "))
	}
	if found.Size > l.layer {
		return found, gitsource.Fail(gitsource.TooLarge, "its content has more than %d MB", l.layer/1_000_000)
	}
	return found, nil
}

// readLayer downloads a layer and reads its archive as it comes; what comes must be what the digest says.
func readLayer(ctx context.Context, repository *remote.Repository, layer ocispec.Descriptor, l limits) (*Tree, error) {
	body, err := repository.Blobs().Fetch(ctx, layer)
	if err != nil {
		return nil, explain(err, fmt.Sprintf("its layer %s is not there", layer.Digest))
	}
	defer body.Close()
	checked := content.NewVerifyReader(body, layer)
	tree, err := readArchive(ctx, checked, layer.MediaType, l)
	if gitsource.Explained(err) {
		return nil, err
	}
	// What is wrong with the download goes first.
	_, rest := io.Copy(io.Discard, checked)
	if rest == nil {
		rest = checked.Verify()
	}
	switch {
	case rest != nil:
		return nil, explain(rest, "")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, gitsource.Fail(gitsource.Invalid, "its content is no whole archive of the kind that its media type says")
	case err != nil:
		return nil, explain(err, "")
	}
	return tree, nil
}
