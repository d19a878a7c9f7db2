package gitsource

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// server is one that speaks version 0 of the git protocol.
type server interface {
	// refs asks for the references.
	refs(ctx context.Context) (*packp.AdvRefs, error)
	// pack sends a request and returns what is answered, to be closed.
	pack(ctx context.Context, request []byte) (io.ReadCloser, error)
	// close ends the conversation.
	close()
}

// agent is what servers are told; some of them look for "git/".
const agent = "git/2.0-argocdprogressive"

// decodeRefs reads an advertisement of at most limit bytes.
func decodeRefs(r io.Reader, limit int64) (*packp.AdvRefs, error) {
	watched := &watchedReader{r: r}
	bounded := &io.LimitedReader{R: watched, N: limit}
	adv := packp.NewAdvRefs()
	err := adv.Decode(bounded)
	var said *pktline.ErrorLine
	switch {
	case err == nil && adv.IsEmpty(), errors.Is(err, packp.ErrEmptyAdvRefs):
		return nil, fail(Revision, "it has no commits yet")
	case errors.As(err, &said):
		return nil, fail(Missing, "the server says: %s", OneLine(said.Text, 300))
	case err != nil && bounded.N == 0:
		return nil, fail(TooLarge, "its list of branches and tags has more than %d MiB", limit>>20)
	case errors.Is(err, packp.ErrEmptyInput):
		return nil, passing(Unreachable, "the server closed the connection without an answer")
	case err != nil && watched.ended:
		return nil, passing(Unreachable, "the connection ended in the middle of the list of branches and tags")
	case err != nil:
		return nil, fail(Invalid, "the server does not speak the git protocol: %s", OneLine(err.Error(), 300))
	}
	for _, format := range adv.Capabilities.Get(capability.ObjectFormat) {
		if format != "sha1" {
			return nil, fail(Invalid, "it names its objects by %s; only sha1 is supported", OneLine(format, 40))
		}
	}
	return adv, nil
}

// watchedReader notes whether everything was read.
type watchedReader struct {
	r     io.Reader
	ended bool
}

func (w *watchedReader) Read(b []byte) (int, error) {
	n, err := w.r.Read(b)
	w.ended = w.ended || err != nil
	return n, err
}

// ended tells that data is missing rather than wrong.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, pktline.ErrInvalidPktLen)
}

// order is what to ask of a server.
type order struct {
	wants []plumbing.Hash
	// shallow leaves the parents of the commits out.
	shallow bool
	filter  packp.Filter
}

// encode writes an order as a request. What the server cannot do is left out of it.
func (o order) encode(adv *packp.AdvRefs) ([]byte, error) {
	request := packp.NewUploadRequest()
	request.Wants = slices.Clone(o.wants)
	offered := adv.Capabilities
	// Some servers insist on multi_ack, which makes no difference to who has nothing yet.
	for _, c := range []capability.Capability{capability.MultiACKDetailed, capability.Sideband64k, capability.OFSDelta, capability.NoProgress} {
		if offered.Supports(c) {
			if err := request.Capabilities.Set(c); err != nil {
				return nil, err
			}
		}
	}
	if offered.Supports(capability.Agent) {
		if err := request.Capabilities.Set(capability.Agent, agent); err != nil {
			return nil, err
		}
	}
	if o.shallowFrom(adv) {
		if err := request.Capabilities.Set(capability.Shallow); err != nil {
			return nil, err
		}
		request.Depth = packp.DepthCommits(1)
	}
	if o.filter != "" && offered.Supports(capability.Filter) {
		if err := request.Capabilities.Set(capability.Filter); err != nil {
			return nil, err
		}
		request.Filter = o.filter
	}
	var b bytes.Buffer
	if err := request.Encode(&b); err != nil {
		return nil, err
	}
	err := pktline.NewEncoder(&b).EncodeString("done\n")
	return b.Bytes(), err
}

func (o order) shallowFrom(adv *packp.AdvRefs) bool {
	return o.shallow && adv.Capabilities.Supports(capability.Shallow)
}

// packOf skips what stands before the objects in an answer. The reader is that of the objects.
func (o order) packOf(adv *packp.AdvRefs, answer io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(answer, 64<<10)
	lines := pktline.NewScanner(buffered)
	if o.shallowFrom(adv) {
		for lines.Scan() && len(lines.Bytes()) > 0 { // a flush ends the list of commits without parents
			if !bytes.HasPrefix(lines.Bytes(), []byte("shallow ")) && !bytes.HasPrefix(lines.Bytes(), []byte("unshallow ")) {
				return nil, fail(Invalid, "the server answered %q where the depth was to be confirmed", OneLine(string(lines.Bytes()), 100))
			}
		}
		if err := lines.Err(); err != nil {
			return nil, refused(err)
		}
	}
	if !lines.Scan() {
		return nil, refused(lines.Err())
	}
	if line := lines.Bytes(); !bytes.HasPrefix(line, []byte("NAK")) && !bytes.HasPrefix(line, []byte("ACK ")) {
		return nil, fail(Invalid, "the server answered %q where NAK was expected", OneLine(string(line), 100))
	}
	if adv.Capabilities.Supports(capability.Sideband64k) {
		return sideband.NewDemuxer(sideband.Sideband64k, buffered), nil
	}
	return buffered, nil
}

// refused is why no objects came.
func refused(err error) error {
	var said *pktline.ErrorLine
	switch {
	case errors.As(err, &said) && bytes.Contains([]byte(said.Text), []byte("not our ref")):
		return fail(Revision, "the server does not have, or does not give, this commit: %s", OneLine(said.Text, 200))
	case errors.As(err, &said):
		return fail(Other, "the server says: %s", OneLine(said.Text, 300))
	case err == nil || ended(err):
		return passing(Unreachable, "the connection ended before the objects came")
	}
	return passing(Unreachable, "the connection broke before the objects came: %s", OneLine(err.Error(), 300))
}
