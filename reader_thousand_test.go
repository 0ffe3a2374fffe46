package sluice_test

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// An ending is what a peer does after its whole frames.
type ending int

const (
	closes         ending = iota // at a boundary
	closesHalfway                // inside a frame
	stopsHalfway                 // inside a frame, and the reader's timeout ends that
	closedHalfway                // inside a frame, and the reader's side is closed
	endings                      // how many there are
	thousandFrame  = 16 << 10
	thousandFrames = 4
)

// TestAThousandReadersOnHalfTheMemory: every peer has sent half of its first frame
// before one sends the rest, and what the readers want to hold then is twice the budget.
// Every reader gets every whole frame, whatever becomes of other peers, and in the end
// nothing is held and no one waits.
func TestAThousandReadersOnHalfTheMemory(t *testing.T) {
	readers := 1000
	if sys.Race || testing.Short() {
		readers = 120
	}
	seed := sluicetest.Seed(t)
	// A frame's block is twice as long, for its prefix.
	a := mem.New(mem.Options{Name: "thousand", Budget: int64(readers) * 2 * thousandFrame / 2, Leak: mem.LeakSample})
	var group, half sync.WaitGroup
	half.Add(readers)
	for i := range readers {
		near, far := waitPair(t, []string{"tcp", "wrapped", "unix"}[i%3])
		how := ending(i / 3 % int(endings))
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		part := 1 + rng.IntN(4+thousandFrame-1)
		stopped := make(chan struct{}) // the peer sends no more
		over := make(chan struct{})    // its reader has ended
		goTest(t, func() {
			sendThousand(far, how, part, &half)
			close(stopped)
			<-over
			_ = far.Close()
		})
		group.Go(func() {
			defer close(over)
			r := sluice.NewBufReader(near, sluice.Options{Allocator: a})
			defer near.Close()
			defer r.Recycle()
			if err := readThousand(r, near, how, stopped); err != nil {
				t.Errorf("reader %d, ending %d after %d bytes of a frame: %v", i, how, part, err)
			}
		})
	}
	within(t, "reading by a thousand", group.Wait)
	s := a.Stats()
	if s.CheckedOut != 0 || s.Budget.Waiting != 0 || s.Budget.Overdraft != 0 {
		t.Errorf("%d blocks are out, %+v", s.CheckedOut, s.Budget)
	}
}

// sendThousand writes half a frame, and when all peers have done so the rest of the
// whole frames. Then it does what how says.
func sendThousand(far io.WriteCloser, how ending, part int, half *sync.WaitGroup) {
	frame := make([]byte, 4+thousandFrame)
	binary.BigEndian.PutUint32(frame, thousandFrame)
	_, err := far.Write(frame[:thousandFrame/2])
	half.Done()
	half.Wait()
	for i := 0; i < thousandFrames && err == nil; i++ {
		rest := frame
		if i == 0 {
			rest = frame[thousandFrame/2:]
		}
		_, err = far.Write(rest)
	}
	if err != nil {
		return
	}
	if how != closes {
		_, _ = far.Write(frame[:part])
	}
	if how == closes || how == closesHalfway {
		_ = far.Close()
	}
}

// readThousand reads the whole frames, and says whether the end was another than how.
func readThousand(r *sluice.BufReader, near io.Closer, how ending, stopped <-chan struct{}) error {
	for range thousandFrames {
		b, err := r.ReadFrame(4, binary.BigEndian, thousandFrame)
		if err != nil {
			return err
		}
		b.Release()
	}
	want := []error{io.EOF}
	switch how {
	case closesHalfway:
		want = []error{io.ErrUnexpectedEOF}
	case stopsHalfway:
		want = []error{os.ErrDeadlineExceeded}
		if err := r.SetTimeout(50 * time.Millisecond); err != nil {
			return err
		}
	case closedHalfway:
		want = []error{net.ErrClosed, io.ErrClosedPipe}
		go func() {
			<-stopped
			_ = near.Close()
		}()
	}
	_, err := r.ReadFrame(4, binary.BigEndian, thousandFrame)
	for _, w := range want {
		if errors.Is(err, w) {
			return nil
		}
	}
	return err
}
