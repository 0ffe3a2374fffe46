package sluice_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// What readers hold of messages that have begun does not come back before they get more, however
// they came to it: where it is all of the budget, they are served beyond it, one after the other.
func TestReadersGoOnWhateverTheyHold(t *testing.T) {
	const readers = 8
	frame := binary.BigEndian.AppendUint32(nil, 9000)
	frame = append(frame, bytes.Repeat([]byte("x"), 9000)...)
	for name, c := range map[string]struct {
		budget int64
		reader func(t *testing.T, a *mem.Allocator) *sluice.BufReader
	}{
		"what an HTTP server had read": {readers * 4096, func(t *testing.T, a *mem.Allocator) *sluice.BufReader {
			near, far := streamPair(t, "tcp")
			send(t, far, frame, every(len(frame)))
			rw := bufio.NewReadWriter(bufio.NewReader(near), nil)
			if p, err := rw.Peek(4096); err != nil {
				t.Fatalf("%d bytes: %v", len(p), err)
			}
			return sluice.NewBufReaderFrom(rw, near, sluice.Options{Allocator: a})
		}},
		"the rest of a message": {readers * 64 << 10, func(t *testing.T, a *mem.Allocator) *sluice.BufReader {
			near, far := datagramPair(t)
			if _, err := far.Write(frame); err != nil {
				t.Fatal(err)
			}
			r := sluice.NewBufReader(near, sluice.Options{Allocator: a})
			if p, err := r.Peek(1); err != nil { // the rest of it waits beside the reader's block
				t.Fatal(p, err)
			}
			return r
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a := watched(t, c.budget)
			got := make(chan error, readers)
			var all []*sluice.BufReader
			for range readers {
				all = append(all, c.reader(t, a))
			}
			for _, r := range all {
				go func() {
					f, err := r.ReadFrame(4, binary.BigEndian, 0)
					if err == nil && f.Len() != len(frame)-4 {
						err = fmt.Errorf("%d bytes", f.Len())
					}
					if err == nil {
						f.Release()
					}
					r.Recycle()
					got <- err
				}()
			}
			for i := range readers {
				select {
				case err := <-got:
					if err != nil {
						t.Error(err)
					}
				case <-time.After(20 * time.Second):
					t.Fatalf("%d of %d readers go on; %+v", i, readers, a.Stats().Budget)
				}
			}
		})
	}
}

// datagramPair is a connection of UDP.
func datagramPair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	far, err = net.DialUDP("udp", nil, l.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeAll(l, far) })
	return l, far
}

func closeAll(list ...io.Closer) {
	for _, c := range list {
		_ = c.Close()
	}
}
