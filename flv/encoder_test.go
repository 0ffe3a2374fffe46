package flv_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

// copyTags passes everything from one stream to another.
func copyTags(in *sluice.BufReader, out *sluice.BufWriter) error {
	d, e := flv.NewDecoder(in), flv.NewEncoder(out)
	h, err := d.ReadHeader()
	if err != nil {
		return err
	}
	if err := e.WriteHeader(h); err != nil {
		return err
	}
	for {
		t, err := d.Next()
		if err == io.EOF {
			return e.Flush()
		}
		if err != nil {
			return err
		}
		if err := e.WriteTag(t); err != nil {
			return err
		}
	}
}

func TestWhatIsDecodedIsEncodedByteForByte(t *testing.T) {
	for _, bound := range []int{0, 1, 1 << 20} {
		in := watchedReader(t)
		in.Reset(bytes.NewReader(flvclip.File))
		var got bytes.Buffer
		out := sluice.NewBufWriter(&got, sluice.Options{Allocator: in.Allocator, BufLen: bound})
		if err := copyTags(in, out); err != nil {
			t.Fatal(err)
		}
		out.Recycle()
		if !bytes.Equal(got.Bytes(), flvclip.File) {
			t.Errorf("bound %d: %d bytes came out, and are not the file", bound, got.Len())
		}
	}
}

// failing takes n bytes.
type failing struct{ n int }

var errFull = errors.New("the disk is full")

func (f *failing) Write(p []byte) (int, error) {
	n := min(len(p), f.n)
	f.n -= n
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

func TestATagIsReleasedWhenItCannotBeWritten(t *testing.T) {
	for _, room := range []int{0, 5, 1000, 20_000, 100_000} {
		in := watchedReader(t)
		in.Reset(bytes.NewReader(flvclip.File))
		out := sluice.NewBufWriter(&failing{n: room}, sluice.Options{Allocator: in.Allocator, BufLen: 100})
		if err := copyTags(in, out); !errors.Is(err, errFull) {
			t.Errorf("room for %d: %v", room, err)
		}
		if err := flv.NewEncoder(out).WriteTag(flv.Tag{Type: flv.TagAudio, Payload: in.Allocator.Get(10)}); !errors.Is(err, errFull) {
			t.Errorf("room for %d, afterwards: %v", room, err)
		}
		out.Recycle()
	}
}

func TestEncoderAllocatesNothing(t *testing.T) {
	if sys.Race || invariant.Enabled {
		t.Skip("sync.Pool drops at random under the race detector, and checks allocate")
	}
	out := sluice.NewBufWriter(io.Discard)
	defer out.Recycle()
	e := flv.NewEncoder(out)
	write := func() {
		for _, n := range []int{10, 400, 5000, 20_000} {
			if err := e.WriteTag(flv.Tag{Type: flv.TagVideo, Time: 1 << 25, Payload: mem.Default().Get(n)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	for range 200 {
		write()
	}
	if n := testing.AllocsPerRun(500, write); n > 0 {
		t.Errorf("%v allocations for 4 tags", n)
	}
}
