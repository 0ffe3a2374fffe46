package wire

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// refusing serves HTTP/2 on a connection, and refuses the first streams of it; below 0, it ends at the first.
func refusing(conn net.Conn, streams int) error {
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return err
	}
	var head bytes.Buffer
	encoder := hpack.NewEncoder(&head)
	f := http2.NewFramer(conn, conn)
	if err := f.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1}); err != nil {
		return err
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return err
		}
		if ping, ok := frame.(*http2.PingFrame); ok && !ping.IsAck() {
			if err := f.WritePing(true, ping.Data); err != nil {
				return err
			}
		}
		asked, ok := frame.(*http2.HeadersFrame)
		if !ok {
			continue
		}
		if streams < 0 {
			return nil
		}
		if streams--; streams >= 0 {
			err = f.WriteRSTStream(asked.StreamID, http2.ErrCodeRefusedStream)
		} else {
			head.Reset()
			encoder.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
			err = f.WriteHeaders(http2.HeadersFrameParam{StreamID: asked.StreamID, BlockFragment: head.Bytes(), EndHeaders: true, EndStream: true})
		}
		if err != nil {
			return err
		}
		streams = max(streams, 0)
	}
}

// A stream is refused by a server that takes fewer at once than the client knew when it
// began; one that refuses all is an error, and so is one that hangs up.
func TestRefusedStreamsAreTriedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		refused int
		fails   string
	}{{1, ""}, {10 * mostTries, "REFUSED_STREAM"}, {-1, "the target ended the connection"}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			refusing(conn, c.refused) // ends with the connection
		}()
		target, err := ParseTarget("http://"+l.Addr().String()+"/", &Options{HTTP: &HTTP{Two: true}})
		if err != nil {
			t.Fatal(err)
		}
		caller, err := target.Caller(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		defer caller.Close()
		o, err := caller.Call(t.Context(), &Request{})
		if (err != nil) != (c.fails != "") || err == nil && !o.Done || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("after %d refused streams: %+v, %v", c.refused, o, err)
		}
	}
}
