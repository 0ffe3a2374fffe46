package sluice_test

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/sluice-go/sluice"
)

func TestCloseByAnotherGoroutineEndsAReadThatWaits(t *testing.T) {
	for _, c := range []struct {
		network string
		want    error
	}{{"tcp", net.ErrClosed}, {"unix", net.ErrClosed}, {"wrapped", net.ErrClosed}, {"pipe", io.ErrClosedPipe}} {
		for _, call := range []struct {
			name string
			read func(r *sluice.BufReader) error
		}{
			{"ReadByte", func(r *sluice.BufReader) error { _, err := r.ReadByte(); return err }},
			{"Next", func(r *sluice.BufReader) error { _, err := r.Next(1000); return err }},
			{"ReadBytes", func(r *sluice.BufReader) error { _, err := r.ReadBytes(1_000_000); return err }},
			{"Skip", func(r *sluice.BufReader) error { return r.Skip(1 << 30) }},
			{"ReadLine", func(r *sluice.BufReader) error { _, err := r.ReadLine(); return err }},
		} {
			t.Run(c.network+"/"+call.name, func(t *testing.T) {
				var near net.Conn
				if c.network == "wrapped" {
					tcp, _ := tcpPair(t)
					near = struct{ net.Conn }{tcp}
				} else {
					near, _ = streamPair(t, c.network)
				}
				r := readerOf(t, paranoid(t), 0, near)
				done := make(chan error, 1)
				go func() { done <- call.read(r) }()
				untilParked(t, "(*BufReader)."+call.name)
				if err := near.Close(); err != nil {
					t.Fatal(err)
				}
				var err error
				within(t, "the read", func() { err = <-done })
				if !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
				if _, err := r.ReadByte(); !errors.Is(err, c.want) {
					t.Errorf("then %v, want %v", err, c.want)
				}
			})
		}
	}
}

func TestCloseByThePeerIsTheEnd(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		near, far := streamPair(t, network)
		r := readerOf(t, paranoid(t), 0, near)
		done := make(chan error, 1)
		go func() {
			_, err := r.Next(10)
			done <- err
		}()
		untilParked(t, "(*BufReader).Next")
		write(t, far, "half")
		closeWrite(far)
		var err error
		within(t, "the read", func() { err = <-done })
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", network, err)
		}
		if p, err := r.Next(4); string(p) != "half" || err != nil {
			t.Errorf("%s: then %q, %v", network, p, err)
		}
		if _, err := r.ReadByte(); err != io.EOF {
			t.Errorf("%s: at last %v", network, err)
		}
	}
}

// TestErrorOfASocketIsWhatItsOwnReadReturns compares a connection that was
// closed, read by us and by itself.
func TestErrorOfASocketIsWhatItsOwnReadReturns(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		near, _ := streamPair(t, network)
		r := readerOf(t, paranoid(t), 0, near)
		_ = near.Close()
		_, ours := r.ReadByte()
		_, theirs := near.Read(make([]byte, 1))
		var a, b *net.OpError
		if !errors.As(ours, &a) || !errors.As(theirs, &b) {
			t.Fatalf("%s: %#v and %#v", network, ours, theirs)
		}
		if a.Op != b.Op || a.Net != b.Net || a.Addr.String() != b.Addr.String() || a.Source.String() != b.Source.String() || ours.Error() != theirs.Error() {
			t.Errorf("%s: %v, the connection's own is %v", network, ours, theirs)
		}
	}
}
