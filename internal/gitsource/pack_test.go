package gitsource

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

func peeled(t testing.TB, tree *Tree) plumbing.Hash {
	t.Helper()
	return plumbing.NewHash(tree.Commit())
}

func rootOf(t testing.TB, tree *Tree) plumbing.Hash {
	t.Helper()
	_, root, err := peel(tree.objects, peeled(t, tree), tree.limits)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// packed is an entry of a pack that is written by hand.
type packed struct {
	kind plumbing.ObjectType
	// length is what the header says; -1 for the truth.
	length int
	// base is for deltas: how many entries before, or the hash.
	back    int
	ref     plumbing.Hash
	content []byte
}

// writePack makes a pack with a right checksum of whatever it is given.
func writePack(entries ...packed) []byte {
	var b bytes.Buffer
	b.WriteString("PACK")
	_ = binary.Write(&b, binary.BigEndian, [2]uint32{2, uint32(len(entries))})
	var offsets []int
	for _, e := range entries {
		offsets = append(offsets, b.Len())
		length := e.length
		if length < 0 {
			length = len(e.content)
		}
		first := byte(e.kind)<<4 | byte(length&15)
		for length >>= 4; length > 0; length >>= 7 {
			b.WriteByte(first | 0x80)
			first = byte(length & 0x7f)
		}
		b.WriteByte(first)
		switch e.kind {
		case plumbing.OFSDeltaObject:
			distance := offsets[len(offsets)-1] - offsets[len(offsets)-1-e.back]
			digits := []byte{byte(distance & 0x7f)}
			for distance >>= 7; distance > 0; distance >>= 7 {
				distance--
				digits = append([]byte{byte(distance&0x7f) | 0x80}, digits...)
			}
			b.Write(digits)
		case plumbing.REFDeltaObject:
			b.Write(e.ref[:])
		}
		z := zlib.NewWriter(&b)
		_, _ = z.Write(e.content)
		_ = z.Close()
	}
	sum := sha1.Sum(b.Bytes())
	b.Write(sum[:])
	return b.Bytes()
}

// delta copies the whole base count times.
func delta(base []byte, count int) []byte {
	d := append(number7(len(base)), number7(len(base)*count)...)
	size := len(base)
	for range count {
		d = append(d, 0x80|0x10|0x20|0x40, byte(size), byte(size>>8), byte(size>>16))
	}
	return d
}

// number7 is a number as at the beginning of a delta.
func number7(n int) []byte {
	var b []byte
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func receiveAll(t testing.TB, content []byte, l limits) (*pack, error) {
	t.Helper()
	p, err := receive(t.Context(), bytes.NewReader(content), l)
	if err == nil {
		t.Cleanup(func() { _ = p.close() })
	}
	return p, err
}

func TestPacksWithDeltas(t *testing.T) {
	base := []byte(strings.Repeat("base ", 100))
	baseHash := plumbing.ComputeHash(plumbing.BlobObject, base)
	double := append(bytes.Clone(base), base...)
	doubleHash := plumbing.ComputeHash(plumbing.BlobObject, double)
	four := append(bytes.Clone(double), double...)
	fourHash := plumbing.ComputeHash(plumbing.BlobObject, four)
	blob := packed{kind: plumbing.BlobObject, length: -1, content: base}
	one := packed{kind: plumbing.OFSDeltaObject, length: -1, back: 1, content: delta(base, 2)}
	for name, entries := range map[string][]packed{
		"by offset":       {blob, one, {kind: plumbing.OFSDeltaObject, length: -1, back: 1, content: delta(double, 2)}},
		"by hash":         {blob, {kind: plumbing.REFDeltaObject, length: -1, ref: baseHash, content: delta(base, 2)}, {kind: plumbing.REFDeltaObject, length: -1, ref: doubleHash, content: delta(double, 2)}},
		"before the base": {{kind: plumbing.REFDeltaObject, length: -1, ref: doubleHash, content: delta(double, 2)}, {kind: plumbing.REFDeltaObject, length: -1, ref: baseHash, content: delta(base, 2)}, blob},
		"both":            {blob, one, {kind: plumbing.REFDeltaObject, length: -1, ref: doubleHash, content: delta(double, 2)}, blob},
		"siblings":        {blob, one, {kind: plumbing.OFSDeltaObject, length: -1, back: 2, content: delta(base, 4)}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := receiveAll(t, writePack(entries...), defaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			for hash, want := range map[plumbing.Hash][]byte{baseHash: base, doubleHash: double, fourHash: four} {
				for range 2 { // the second time from what is remembered
					kind, got, err := p.object(hash, 1<<20)
					if err != nil || kind != plumbing.BlobObject || !bytes.Equal(got, want) {
						t.Errorf("object %s is a %s of %d bytes, %v", hash, kind, len(got), err)
					}
				}
				if _, _, err := p.object(hash, int64(len(want))-1); !errors.Is(err, errTooLarge) {
					t.Errorf("an object beyond the limit gives %v", err)
				}
			}
			if _, _, err := p.object(plumbing.ComputeHash(plumbing.BlobObject, []byte("other")), 1<<20); !errors.Is(err, errAbsent) {
				t.Errorf("an object that is not there gives %v", err)
			}
		})
	}
}

func TestPacksThatAreDamagedOrHostile(t *testing.T) {
	base := bytes.Repeat([]byte("x"), 1<<16)
	blob := packed{kind: plumbing.BlobObject, length: -1, content: base}
	good := writePack(blob)
	l := defaultLimits()
	l.object, l.held, l.pack, l.objects = 1<<20, 3<<20, 1<<20, 100
	flip := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 0xff
		return b
	}
	many := bytes.Clone(good)
	binary.BigEndian.PutUint32(many[8:], 1<<31)
	for name, c := range map[string]struct {
		content []byte
		kind    Kind
	}{
		"nothing":              {nil, Unreachable},
		"half a header":        {good[:9], Unreachable},
		"half an object":       {good[:20], Unreachable},
		"no checksum":          {good[:len(good)-20], Unreachable},
		"half a checksum":      {good[:len(good)-3], Unreachable},
		"another checksum":     {flip(len(good) - 1), Invalid},
		"another signature":    {flip(0), Invalid},
		"another version":      {flip(7), Invalid},
		"another content":      {flip(len(good) - 25), Invalid},
		"too many objects":     {many, TooLarge},
		"too many bytes":       {append(good, make([]byte, 1<<20)...), TooLarge},
		"shorter than it says": {writePack(packed{kind: plumbing.BlobObject, length: 1 << 20, content: base}), Invalid},
		"longer than it says":  {writePack(packed{kind: plumbing.BlobObject, length: 10, content: base}), Invalid},
		"no such type":         {writePack(packed{kind: 5, length: -1, content: base}), Invalid},
		"a delta of nothing":   {writePack(packed{kind: plumbing.OFSDeltaObject, length: -1, back: 0, content: delta(base, 2)}), Invalid},
		"a damaged delta":      {writePack(blob, packed{kind: plumbing.OFSDeltaObject, length: -1, back: 1, content: []byte("\xff\xff\xff\xff")}), Invalid},
		"a delta of another":   {writePack(blob, packed{kind: plumbing.OFSDeltaObject, length: -1, back: 1, content: delta(base[1:], 2)}), Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := receiveAll(t, c.content, l)
			var f *failure
			if !errors.As(err, &f) || f.kind != c.kind {
				t.Errorf("the error is %v, want one of kind %d", err, c.kind)
			}
		})
	}

	// A few bytes that become very many are left alone; the rest can be read.
	hash := plumbing.ComputeHash(plumbing.BlobObject, base)
	bombs := []packed{blob}
	for range 50 {
		bombs = append(bombs, packed{kind: plumbing.OFSDeltaObject, length: -1, back: len(bombs), content: delta(base, 1<<14)})
	}
	p, err := receiveAll(t, writePack(bombs...), l)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.object(hash, 1<<20); err != nil || len(p.byHash) != 1 {
		t.Errorf("%d of the objects are known, %v", len(p.byHash), err)
	}

	// A tree of deltas in which everything is needed at once.
	var wide []packed
	content := base
	for range 8 {
		kind := packed{kind: plumbing.BlobObject, length: -1, content: content}
		if len(wide) > 0 {
			bigger := append(number7(len(content)), number7(len(content)+1<<16)...)
			bigger = append(bigger, 0x80|0x10|0x20|0x40, byte(len(content)), byte(len(content)>>8), byte(len(content)>>16), 0x80|0x40, 1)
			kind = packed{kind: plumbing.OFSDeltaObject, length: -1, back: 2, content: bigger}
			content = append(bytes.Clone(content), content[:1<<16]...)
		}
		leaf := packed{kind: plumbing.OFSDeltaObject, length: -1, back: 1, content: delta(content, 1)}
		wide = append(wide, kind, leaf)
	}
	l.held = 1 << 18
	var f *failure
	if _, err := receiveAll(t, writePack(wide...), l); err != nil && (!errors.As(err, &f) || f.kind != TooLarge) {
		t.Errorf("deltas that need too much at once give %v", err)
	}

	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := receive(cancelled, bytes.NewReader(good), l); err == nil || err.Error() != "enough" {
		t.Errorf("after its end, a fetch gives %v", err)
	}
}

func TestAnswersThatBreakOff(t *testing.T) {
	r, _, _ := sample(t)
	r.write("noise", noise(1<<17))
	r.commit("noise")
	backend := httpBackend(r)
	for _, keep := range []int64{0, 1, 4, 8, 30, 300, 1 << 14, 1 << 17} {
		server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				backend.ServeHTTP(w, r)
				return
			}
			backend.ServeHTTP(&cutWriter{w, keep}, r)
		}))
		s := newTestStore(t)
		s.limits.attempts = 1
		_, err := s.Fetch(t.Context(), Repository{URL: server.URL + "/repo.git"}, "main")
		fails(t, err, Unreachable, "connection ended")
	}
}

// cutWriter loses everything after some bytes.
type cutWriter struct {
	http.ResponseWriter
	left int64
}

func (c *cutWriter) Write(b []byte) (int, error) {
	n := min(int64(len(b)), c.left)
	c.left -= n
	if n == 0 {
		return len(b), nil
	}
	_, err := c.ResponseWriter.Write(b[:n])
	return len(b), err
}

func (c *cutWriter) Flush() { c.ResponseWriter.(http.Flusher).Flush() }

func TestATreeThatIsManyStaysWithinMemory(t *testing.T) {
	store := memory{}
	tree := store.add(plumbing.TreeObject, rawEntry("100644", "file", store.add(plumbing.BlobObject, "x").String()))
	for range 8 { // 100 million paths
		var entries strings.Builder
		for n := range 10 {
			entries.WriteString(rawEntry("40000", fmt.Sprintf("directory-%d", n), tree.String()))
		}
		tree = store.add(plumbing.TreeObject, entries.String())
	}
	runtime.GC()
	stop, done := make(chan struct{}), make(chan uint64)
	go func() {
		var now runtime.MemStats
		most := uint64(0)
		for {
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
			select {
			case <-stop:
				done <- most
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	_, err := readTree(t.Context(), store, plumbing.ZeroHash, tree, defaultLimits())
	close(stop)
	most := <-done
	var f *failure
	if !errors.As(err, &f) || f.kind != TooLarge {
		t.Errorf("the error is %v", err)
	}
	if t.Logf("it took %d MiB", most>>20); most > 512<<20 {
		t.Errorf("it took %d MiB", most>>20)
	}
}

// memory are objects without a pack.
type memory map[plumbing.Hash]packed

func (m memory) add(kind plumbing.ObjectType, content string) plumbing.Hash {
	hash := plumbing.ComputeHash(kind, []byte(content))
	m[hash] = packed{kind: kind, content: []byte(content)}
	return hash
}

func (m memory) object(hash plumbing.Hash, limit int64) (plumbing.ObjectType, []byte, error) {
	found, ok := m[hash]
	switch {
	case !ok:
		return plumbing.InvalidObject, nil, errAbsent
	case int64(len(found.content)) > limit:
		return plumbing.InvalidObject, nil, errTooLarge
	}
	return found.kind, found.content, nil
}

func (m memory) commits(string) ([]plumbing.Hash, error) { return nil, nil }
func (m memory) close() error                            { return nil }
