package rtsp_test

import (
	"io"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtsp"
)

func TestInterleavedFramesAllocateNothing(t *testing.T) {
	if sys.Race || invariant.Enabled {
		t.Skip("allocations are counted in plain builds only")
	}
	var frames []byte
	for i, n := range []int{1400, 12, 0, 900, 1400, 60} {
		frames = append(frames, '$', byte(i), byte(n>>8), byte(n))
		frames = append(frames, make([]byte, n)...)
	}
	br := sluice.NewBufReader(&repeat{p: frames, n: 1 << 30})
	defer br.Recycle()
	r := rtsp.NewReader(br, rtsp.Limits{})
	w := sluice.NewBufWriter(io.Discard)
	defer w.Recycle()
	relay := func() {
		for range 60 {
			item, err := r.Read()
			if err != nil {
				t.Fatal(err)
			}
			if err := rtsp.WriteInterleaved(w, item.Interleaved.Channel, item.Interleaved.Payload); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		relay()
	}
	if n := testing.AllocsPerRun(200, relay); n != 0 {
		t.Errorf("%v allocations for 60 frames", n)
	}
}

// A payload is the memory that was received into: its copies would show as
// other addresses.
func TestPayloadsAreNotCopied(t *testing.T) {
	data := []byte("$\x00\x00\x03abc$\x01\x00\x03def")
	br := sluice.NewBufReaderBytes(data)
	defer br.Recycle()
	r := rtsp.NewReader(br, rtsp.Limits{})
	for _, at := range []int{4, 11} {
		item, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		if b := item.Interleaved.Payload.Bytes(); &b[0] != &data[at] {
			t.Errorf("the payload at %d was copied", at)
		}
		item.Release()
	}
}

func BenchmarkInterleaved(b *testing.B) {
	frame := append([]byte("$\x00\x05\x78"), make([]byte, 1400)...)
	br := sluice.NewBufReader(&repeat{p: frame, n: int(^uint(0) >> 1)})
	defer br.Recycle()
	r := rtsp.NewReader(br, rtsp.Limits{})
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	var kept mem.Buf
	for b.Loop() {
		item, err := r.Read()
		if err != nil {
			b.Fatal(err)
		}
		kept = item.Interleaved.Payload
		kept.Release()
	}
}
