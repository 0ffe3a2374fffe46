package aio_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// lines is a Frames.Size for lines, which end with a newline.
func lines(begin []byte) (int, error) { return bytes.IndexByte(begin, '\n') + 1, nil }

func TestFramesOfAnyCut(t *testing.T) {
	seed := sluicetest.Seed(t)
	dice := rand.New(rand.NewPCG(seed, 1))
	a := mem.New(mem.Options{Name: "frames", Leak: mem.LeakParanoid})
	sluicetest.NoLeaks(t, a)
	for _, kind := range []struct {
		name string
		size func([]byte) (int, error)
		make func(n int) []byte
	}{
		{"lines", lines, func(n int) []byte { return append(bytes.Repeat([]byte{'x'}, n), '\n') }},
		{"prefix of 4", aio.LengthPrefix(4), func(n int) []byte {
			return append(binary.BigEndian.AppendUint32(nil, uint32(n)), bytes.Repeat([]byte{byte(n)}, n)...)
		}},
		{"prefix of 2", aio.LengthPrefix(2), func(n int) []byte {
			return append(binary.BigEndian.AppendUint16(nil, uint16(n)), bytes.Repeat([]byte{byte(n)}, n)...)
		}},
	} {
		var stream []byte
		var want [][]byte
		for range 100 {
			n := dice.IntN(20)
			if dice.IntN(10) == 0 {
				n = dice.IntN(9000)
			}
			want = append(want, kind.make(n))
			stream = append(stream, want[len(want)-1]...)
		}
		for name, r := range sluicetest.Chunkings(stream) {
			f := aio.Frames{Size: kind.size, Allocator: a}
			var got [][]byte
			p := make([]byte, 1+dice.IntN(4000))
			for {
				n, err := r.Read(p)
				if err := f.Add(p[:n], func(frame []byte) error {
					got = append(got, slices.Clone(frame))
					return nil
				}); err != nil {
					t.Fatalf("%s, %s: %v", kind.name, name, err)
				}
				if err != nil {
					break
				}
			}
			if !slices.EqualFunc(got, want, bytes.Equal) || f.Buffered() != 0 {
				t.Errorf("%s, %s: %d frames of %d, or other ones; %d bytes are left", kind.name, name, len(got), len(want), f.Buffered())
			}
		}
	}
}

func TestFramesEnd(t *testing.T) {
	a := mem.New(mem.Options{Name: "frames"})
	sluicetest.NoLeaks(t, a)
	none := func([]byte) error { return nil }
	f := aio.Frames{Size: aio.LengthPrefix(2), Limit: 100, Allocator: a}
	errRefused := errors.New("refused")
	for name, step := range map[string]struct {
		do   func() error
		want error
	}{
		"an end between frames": {func() error { return f.Completed(&aio.OpResult{Error: io.EOF}, none) }, io.EOF},
		"an end within a frame": {func() error {
			return errors.Join(f.Add([]byte{0, 9, 1}, none), f.Completed(&aio.OpResult{Error: io.EOF}, none))
		}, io.ErrUnexpectedEOF},
		"a frame too long":    {func() error { return f.Add([]byte{0, 99}, none) }, aio.ErrFrameTooLong},
		"a frame that is not": {func() error { return f.Add([]byte{0, 98}, none) }, nil},
		"refused":             {func() error { return f.Add([]byte{0, 1, 7}, func([]byte) error { return errRefused }) }, errRefused},
		"refused in two parts": {func() error {
			return errors.Join(f.Add([]byte{0, 1}, none), f.Add([]byte{7}, func([]byte) error { return errRefused }))
		}, errRefused},
		"a line without an end": {func() error {
			f := aio.Frames{Size: lines, Limit: 100, Allocator: a}
			for range 99 {
				if err := f.Add([]byte("x"), none); err != nil {
					return err
				}
			}
			return f.Add([]byte("x"), none)
		}, aio.ErrFrameTooLong},
	} {
		if err := step.do(); !errors.Is(err, step.want) {
			t.Errorf("%s: %v, want %v", name, err, step.want)
		}
		if n := f.Buffered(); n != 0 && step.want != nil {
			t.Errorf("%s: %d bytes are left after the error", name, n)
		}
		f.Release()
	}
	if f.Buffered() != 0 {
		t.Errorf("%d bytes are left after Release", f.Buffered())
	}
}

// What a head promises takes no memory before it has come, and a budget bounds
// what has.
func TestFramesMemoryFollowsBytes(t *testing.T) {
	a := mem.New(mem.Options{Name: "frames", Budget: 64 << 10})
	sluicetest.NoLeaks(t, a)
	none := func([]byte) error { return nil }
	f := aio.Frames{Size: aio.LengthPrefix(4), Allocator: a}
	if err := f.Add([]byte{0, 15, 0, 0}, none); err != nil {
		t.Fatal(err)
	}
	sent := 4
	for range 100 {
		if err := f.Add(make([]byte, 100), none); err != nil {
			t.Fatal(err)
		}
		sent += 100
		// Twice what has come, in a block of the next power of two.
		if out := a.Stats().OutBytes; out > int64(4*sent+1<<10) {
			t.Fatalf("%d bytes hold %d", sent, out)
		}
	}
	var err error
	for range 100 {
		if err = f.Add(make([]byte, 1000), none); err != nil {
			break
		}
	}
	if !errors.Is(err, mem.ErrBudget) || f.Buffered() != 0 {
		t.Errorf("beyond the budget: %v, %d bytes are kept", err, f.Buffered())
	}
}

// A server with frames across reads, over both drivers and both kinds of read.
func TestFramesOfConnections(t *testing.T) {
	overBothDrivers(t, func(t *testing.T, d aio.Driver) {
		a := mem.New(mem.Options{Name: "frames"})
		sluicetest.NoLeaks(t, a)
		read := func(w *aio.Watcher, f *aio.Frames, conn net.Conn) error {
			if f.Limit%2 == 0 {
				return w.Read(f, conn, nil)
			}
			return w.ReadBuf(f, conn, 0, time.Time{})
		}
		s := serve(t, &aio.Server{Options: aio.Options{Driver: d, Allocator: a}, Handler: handler{
			accepted: func(w *aio.Watcher, conn net.Conn) {
				_ = read(w, &aio.Frames{Size: aio.LengthPrefix(4), Limit: 1<<20 + rand.IntN(2), Allocator: a}, conn)
			},
			completed: func(w *aio.Watcher, r *aio.OpResult) {
				if r.Operation == aio.OpWrite {
					return
				}
				f := r.Context.(*aio.Frames)
				err := f.Completed(r, func(frame []byte) error {
					return w.Write(nil, r.Conn, binary.BigEndian.AppendUint32(nil, uint32(len(frame)-4)))
				})
				if err == nil {
					err = read(w, f, r.Conn)
				}
				if err != nil && !errors.Is(err, aio.ErrWatcherClosed) {
					_ = w.Free(r.Conn)
				}
			},
		}}, listenOn(t, 1))
		for range 4 {
			c := dialTo(t, "tcp", s.addrs[0])
			for _, n := range []int{0, 1, 100, 300_000, 5, 70_000} {
				message := append(binary.BigEndian.AppendUint32(nil, uint32(n)), make([]byte, n)...)
				if _, err := c.Write(message); err != nil {
					t.Fatal(err)
				}
				answer := make([]byte, 4)
				if _, err := io.ReadFull(c, answer); err != nil || binary.BigEndian.Uint32(answer) != uint32(n) {
					t.Fatalf("the answer to %d bytes is %v, %v", n, answer, err)
				}
			}
			_ = c.Close()
		}
		s.stop()
		if err := s.wait(); err != nil {
			t.Error(err)
		}
	})
}
