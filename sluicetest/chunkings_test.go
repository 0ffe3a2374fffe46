package sluicetest_test

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/sluicetest"
)

// drain reads r to its end, over timeouts, and counts what it met.
type drain struct {
	got                    []byte
	reads, empty, timeouts int
	endWithData            bool
}

func (d *drain) read(t *testing.T, r io.Reader, room int) {
	p := make([]byte, room)
	for idle := 0; idle < 3; {
		n, err := r.Read(p)
		d.got = append(d.got, p[:n]...)
		if n > 0 {
			d.reads++
		}
		idle++
		switch {
		case err == io.EOF:
			d.endWithData = n > 0
			if n, err := r.Read(nil); n != 0 || err != nil {
				t.Errorf("Read(nil) at the end is %d, %v", n, err)
			}
			return
		case errors.Is(err, os.ErrDeadlineExceeded) && n == 0:
			d.timeouts++
		case err != nil:
			t.Fatalf("read: %v", err)
		case n == 0:
			d.empty++
		default:
			idle = 0
		}
	}
	t.Fatal("no byte in three reads")
}

func randomBytes(t *testing.T, n int) []byte {
	r := rand.New(rand.NewPCG(sluicetest.Seed(t), 1))
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

func TestEveryChunkingDeliversTheSameBytes(t *testing.T) {
	for _, size := range []int{0, 1, 2, 3, 1000, 100_000} {
		data := randomBytes(t, size)
		keep := bytes.Clone(data)
		names := map[string]bool{}
		check := func(all iter.Seq2[string, io.Reader]) {
			for name, r := range all {
				if names[name] {
					t.Errorf("two chunkings are named %q", name)
				}
				names[name] = true
				var d drain
				d.read(t, r, 512)
				if !bytes.Equal(d.got, data) {
					t.Errorf("%s: %d bytes of %d, or others", name, len(d.got), len(data))
				}
				if want := strings.Contains(name, "timeouts"); want != (d.timeouts > 0) {
					t.Errorf("%s: %d timeouts", name, d.timeouts)
				}
				if want := strings.Contains(name, "empty reads"); want != (d.empty > 0) {
					t.Errorf("%s: %d reads of nothing", name, d.empty)
				}
				if want := strings.Contains(name, "EOF with data") && size > 0; want != d.endWithData {
					t.Errorf("%s: io.EOF came with data: %v", name, d.endWithData)
				}
				if strings.HasPrefix(name, "one byte") && d.reads != size {
					t.Errorf("%s: %d reads for %d bytes", name, d.reads, size)
				}
				if _, ok := r.(io.WriterTo); ok {
					t.Errorf("%s has a way around its Read", name)
				}
			}
		}
		check(sluicetest.Chunkings(data))
		check(sluicetest.TimeoutChunkings(data))
		if len(names) < 20 {
			t.Errorf("only %d chunkings", len(names))
		}
		if !bytes.Equal(data, keep) {
			t.Fatal("the data was changed")
		}
	}
}

func TestChunkingsOfOneSeedAreTheSame(t *testing.T) {
	data := randomBytes(t, 3000)
	counts := func() []int {
		var n []int
		for _, r := range sluicetest.Chunkings(data) {
			var d drain
			d.read(t, r, 4096)
			n = append(n, d.reads)
		}
		return n
	}
	first, second := counts(), counts()
	for i := range first {
		if first[i] != second[i] {
			t.Errorf("chunking %d: %d reads, then %d", i, first[i], second[i])
		}
	}
}

func TestSplitsCutAtEveryPlace(t *testing.T) {
	data := randomBytes(t, 50)
	i := 0
	for name, r := range sluicetest.Splits(data) {
		p := make([]byte, 100)
		n, err := r.Read(p)
		want := i
		if i == 0 {
			want = len(data)
		}
		if n != want || err != nil {
			t.Errorf("%s: the first read is %d, %v", name, n, err)
		}
		rest, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(append(p[:n], rest...), data) {
			t.Errorf("%s: other bytes, or %v", name, err)
		}
		i++
	}
	if i != len(data)+1 {
		t.Errorf("%d splits of %d bytes", i, len(data))
	}
}

func TestStoppingAnIterationStopsIt(t *testing.T) {
	for _, all := range []iter.Seq2[string, io.Reader]{
		sluicetest.Chunkings([]byte("ab")), sluicetest.TimeoutChunkings([]byte("ab")), sluicetest.Splits([]byte("ab")),
	} {
		n := 0
		for range all {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%d readers after break", n)
		}
	}
}
