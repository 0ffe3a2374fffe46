package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtspauth"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtsp"
)

// camera answers one connection: answer is called with each request, until it returns nil.
func camera(t *testing.T, answer func(*rtsp.Request) *rtsp.Response) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		r, w := sluice.NewBufReader(conn), sluice.NewBufWriter(conn)
		defer r.Recycle()
		defer w.Recycle()
		for reader := rtsp.NewReader(r, rtsp.Limits{}); ; {
			item, err := reader.Read()
			if err != nil {
				return
			}
			if item.Request == nil {
				item.Release()
				continue
			}
			resp := answer(item.Request)
			item.Release()
			if resp == nil || rtsp.WriteResponse(w, resp) != nil || w.Flush() != nil {
				return
			}
		}
	}()
	return l.Addr().String()
}

// A session is kept alive with a nonce that has run out, by a request that the camera
// knows, and with a number for each use of a nonce (RFC 2617, section 3.2.2).
func TestSessionsAreKeptAliveAsCamerasWantIt(t *testing.T) {
	const user, password = "u", "secret"
	nonce, uses := "first", 0
	var seen []string // how the session was kept alive
	kept := make(chan struct{})
	address := camera(t, func(r *rtsp.Request) *rtsp.Response {
		challenge := func(how string) *rtsp.Response {
			resp := r.Reply(rtsp.StatusUnauthorized)
			resp.Header.Add("WWW-Authenticate", fmt.Sprintf(`Digest realm="r", nonce="%s", qop="auth"%s`, nonce, how))
			return resp
		}
		p := rtspauth.Params(r.Header.Get("Authorization"))
		if p["response"] == "" || p["response"] != rtspauth.Response(user, password, r.Method, map[string]string{"realm": "r", "nonce": nonce, "uri": r.URL, "qop": "auth", "nc": p["nc"], "cnonce": p["cnonce"]}) {
			uses = 0
			return challenge(", stale=TRUE")
		}
		if uses++; p["nc"] != fmt.Sprintf("%08x", uses) {
			t.Errorf("%s: nc is %s, want %08x", r.Method, p["nc"], uses)
		}
		resp := r.Reply(rtsp.StatusOK)
		switch r.Method {
		case rtsp.Describe:
			resp.Body = mem.Wrap([]byte("m=audio 0 RTP/AVP 8\r\na=control:a\r\n"), nil)
		case rtsp.Setup:
			resp.Header.Add("Session", "12345678;timeout=1")
		case rtsp.Play:
			nonce = "second"
		case rtsp.GetParameter:
			seen = append(seen, r.Method)
			return r.Reply(rtsp.StatusNotImplemented)
		default:
			seen = append(seen, r.Method)
			close(kept)
			return nil
		}
		return resp
	})
	s, err := Parse("live/cam=rtsp://" + user + ":" + password + "@" + address + "/s")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err = pull(ctx, s, &Options{Alloc: mem.Default(), MaxFrame: 1 << 20, Start: 30 * time.Second, Idle: 30 * time.Second}, func(f live.Frame) error {
		f.Payload.Release()
		return nil
	}, nil, func(edge.Way) {})
	if errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	select {
	case <-kept:
	case <-ctx.Done():
		t.Fatalf("the session is not kept alive: %v", err)
	}
	if len(seen) != 2 || seen[0] != rtsp.GetParameter || seen[1] != rtsp.Options {
		t.Errorf("kept alive by %v", seen)
	}
}

// A camera that sends reports and no media has stopped, also when they come on a channel that its
// answer did not name.
func TestReportsAreNoMedia(t *testing.T) {
	for _, channel := range []byte{1, 9} {
		stops(t, channel)
	}
}

// stops plays a camera whose reports come on a channel.
func stops(t *testing.T, channel byte) {
	var sending sync.WaitGroup
	t.Cleanup(sending.Wait)
	address := cameras(t, func(w io.Writer, r *rtsp.Request) *rtsp.Response {
		if r.Method == rtsp.Play {
			sending.Go(func() {
				report := append([]byte{'$', channel, 0, 28, 0x80, 200, 0, 6}, make([]byte, 24)...)
				for p := sound(0, 8, 1); ; p = report {
					if _, err := w.Write(p); err != nil {
						return
					}
					<-time.After(5 * time.Millisecond)
				}
			})
		}
		return usual(r, "m=audio 0 RTP/AVP 8\r\na=control:a\r\n")
	})
	s, err := Parse("live/cam=rtsp://" + address + "/s")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err = pull(ctx, s, &Options{Alloc: mem.Default(), MaxFrame: 1 << 20, Start: 5 * time.Second, Idle: 100 * time.Millisecond}, func(f live.Frame) error {
		f.Payload.Release()
		return nil
	}, nil, func(edge.Way) {})
	if !errors.Is(err, errIdle) || ctx.Err() != nil {
		t.Errorf("reports on channel %d: %v, %v", channel, err, ctx.Err())
	}
}
