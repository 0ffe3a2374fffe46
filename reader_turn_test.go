package sluice_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

// TestRecycleUnderAReadThatWaits: the caller's mistake, which must not end in a
// nil dereference or in another owner's bytes.
func TestRecycleUnderAReadThatWaits(t *testing.T) {
	if sys.Race {
		t.Skip("the mistake is a data race")
	}
	calls := map[string]func(r *sluice.BufReader) error{
		"ReadByte":       func(r *sluice.BufReader) error { _, err := r.ReadByte(); return err },
		"Next":           func(r *sluice.BufReader) error { _, err := r.Next(20_000); return err },
		"ReadBytes":      discardBytesOf(20_000),
		"ReadLine":       func(r *sluice.BufReader) error { _, err := r.ReadLine(); return err },
		"ReadMIMEHeader": func(r *sluice.BufReader) error { _, err := r.ReadMIMEHeader(); return err },
		"Read":           func(r *sluice.BufReader) error { _, err := r.Read(make([]byte, 8192)); return err },
		"WriteTo":        func(r *sluice.BufReader) error { _, err := r.WriteTo(io.Discard); return err },
	}
	for _, network := range []string{"tcp", "unix", "pipe", "chan"} {
		for name, call := range calls {
			for _, head := range []string{"", "half: a frame"} {
				for _, waitsFor := range []string{"bytes", "memory"} {
					if waitsFor == "memory" && (network == "chan" || name != "Next" && name != "ReadBytes") {
						continue // there is no such wait
					}
					if head != "" && (name == "Read" || name == "ReadByte") {
						continue
					}
					t.Run(network+"/"+name+"/"+waitsFor+"/"+head, func(t *testing.T) {
						a := mem.New(mem.Options{Budget: 64 << 10})
						var r *sluice.BufReader
						more, end := func() {}, func() {}
						if network == "chan" {
							r = sluice.NewBufReaderChan(1, sluice.Options{Allocator: a})
							t.Cleanup(r.Recycle)
							if head != "" {
								if err := r.Feed([]byte(head)); err != nil {
									t.Fatal(err)
								}
							}
						} else {
							near, far := streamPair(t, network)
							r = readerOf(t, a, 0, near)
							end = func() { _ = near.Close() }
							goTest(t, func() { _, _ = io.WriteString(far, head) })
							more = func() {
								goTest(t, func() { _, _ = far.Write([]byte(strings.Repeat("more\n", 200))) })
								t.Cleanup(func() { _ = far.Close() })
							}
						}
						if head != "" {
							if _, err := r.Peek(len(head)); err != nil {
								t.Fatal(err)
							}
						}
						var hold []mem.Buf
						if waitsFor == "memory" {
							for b, err := a.TryGet(256); err == nil; b, err = a.TryGet(256) {
								hold = append(hold, b)
							}
							more()
						}
						var err error
						var text string
						finished := make(chan struct{})
						go func() {
							defer close(finished)
							text = panicOf(func() { err = call(r) })
						}()
						untilParked(t, "sluice.(*BufReader)")
						if refused := panicOf(r.Recycle); refused != "" {
							// A pipe that waits inside Read has the reader's block.
							if network != "pipe" || waitsFor != "bytes" || !strings.HasPrefix(refused, "sluice: BufReader was used during a read") {
								t.Errorf("panic %q", refused)
							}
							end()
						}
						for i := range hold {
							hold[i].Release()
						}
						more()
						within(t, "a read whose reader was recycled", func() { <-finished })
						switch {
						case text == "" && err == nil:
							t.Error("the call succeeded")
						case text != "" && !strings.HasPrefix(text, "sluice: "):
							t.Errorf("panic %q", text)
						case text == "" && err != sluice.ErrClosed && !errors.Is(err, io.ErrClosedPipe):
							t.Errorf("error %v", err)
						}
						// The reader is good for the next.
						r.Reset(strings.NewReader("next"))
						if p, err := r.Next(4); string(p) != "next" || err != nil {
							t.Errorf("after Reset: %q, %v", p, err)
						}
						r.Recycle()
						if out := a.Stats().OutBytes; out != 0 {
							t.Errorf("%d bytes are checked out", out)
						}
					})
				}
			}
		}
	}
}

func discardBytesOf(n int) func(r *sluice.BufReader) error {
	return func(r *sluice.BufReader) error { return discardBytes(r, n) }
}
