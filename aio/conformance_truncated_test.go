package aio_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
)

func init() {
	closes := func(o *aio.Options) { o.QueueLimit, o.QueuePolicy = limit, aio.QueueClose }
	onTCP := []string{"tcp", "tls"}
	suite = append(suite,
		behaviour{name: "the peer sees that Free cut a write short", run: truncated(func(f *fixture, near net.Conn) {
			f.free(near)
		}), on: onTCP},
		behaviour{name: "the peer sees that Close cut a write short", run: truncated(func(f *fixture, near net.Conn) {
			_ = f.w.Close()
		}), on: onTCP},
		behaviour{name: "the peer sees that a full queue cut a write short", run: truncated(func(f *fixture, near net.Conn) {
			_ = f.w.Write(nil, near, []byte("beyond the limit"))
		}), on: onTCP, options: closes},
		behaviour{name: "the peer sees that WriteMany cut a write short", run: truncated(func(f *fixture, near net.Conn) {
			f.many([]net.Conn{near}, []byte("x"), aio.SlowClose)
		}), on: onTCP},
		behaviour{name: "what is written before Free arrives, with the end", run: writtenBeforeFree, on: onTCP},
	)
}

// truncated has a write under way when end closes its connection.
func truncated(end func(f *fixture, near net.Conn)) func(*fixture) {
	return func(f *fixture) {
		near, far := f.narrowPair()
		o := f.write(near, f.bytes(tooMuch))
		f.park()
		if _, err := io.ReadFull(far, make([]byte, 1)); err != nil {
			f.Fatal(err)
		}
		end(f, near)
		f.wait(o)
		if o.res.Error == nil || o.res.Size >= tooMuch {
			f.Fatalf("%d bytes of %d are written, %v", o.res.Size, tooMuch, o.res.Error)
		}
		f.wantCut(far, tooMuch-1)
	}
}

// wantCut checks what a peer sees of a connection that was closed when so many bytes had
// gone out, or fewer, and others had not: over TCP a reset, since the end of the stream
// would say that this was all. Other networks have none.
func (f *fixture) wantCut(far net.Conn, out int64) {
	f.Helper()
	n, err := io.Copy(io.Discard, far)
	resets := f.network == "tcp" || f.network == "tls"
	if n > out || resets && !isReset(err) || !resets && err != nil {
		f.Errorf("the peer reads %d bytes, %v; %d had gone out, and more were to come", n, err, out)
	}
}

func writtenBeforeFree(f *fixture) {
	near, far := f.narrowPair()
	data := f.bytes(narrow / 2)
	o := f.write(near, data)
	f.wait(o)
	f.wantError(o, nil)
	f.free(near)
	f.receiveAll(far, data)
	f.wantEOF(far)
}

// A client that does not take everything in time sees that it has not got everything,
// and one that does sees the end of the stream.
func TestClientsSeeWhatIsTruncated(t *testing.T) {
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		for _, how := range []string{"Close", "an error", "the end of the server"} {
			const size = 24 << 20 // more than both ends of the connection buffer
			closed := make(closings, 1)
			written := make(chan struct{}, 1)
			h := &aio.ConnHandler[struct{}]{
				TLS: config,
				Data: func(c *aio.Conn[struct{}], _ []byte) error {
					if _, err := c.Write(make([]byte, size)); err != nil {
						t.Error(err)
					}
					written <- struct{}{}
					switch how {
					case "Close":
						return c.Close()
					case "an error":
						return errOfTheProgram
					}
					return nil
				},
				Closed:       func(_ *aio.Conn[struct{}], reason error) { closed <- reason },
				WriteTimeout: 50 * time.Millisecond,
			}
			if how == "the end of the server" {
				h.WriteTimeout = 0
			}
			s := serveConns(t, h, aio.Server{Options: o, Grace: -1})
			client := s.dial()
			if _, err := client.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			<-written
			if how == "the end of the server" {
				s.end()
			}
			closed.wait(t)
			if n, err := io.Copy(io.Discard, client); n >= size || !isReset(err) {
				t.Errorf("%s: the client reads %d bytes of %d, and then %v", how, n, size, err)
			}
			client.Close()
			if how != "the end of the server" {
				s.end()
			}
		}
	})
}

// isReset reports whether err says that the connection was reset.
func isReset(err error) bool {
	return slices.ContainsFunc(resets, func(reset error) bool { return errors.Is(err, reset) })
}
