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

// refusing serves HTTP/2 on a connection, and resets the first streams of it with a code; below 0, it ends at the first.
func refusing(conn net.Conn, streams int, code http2.ErrCode) error {
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
			err = f.WriteRSTStream(asked.StreamID, code)
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
// began; one that refuses all is an error, and so is one that hangs up. Any other reset is of a request
// that it has looked at, which has failed and is not tried again.
func TestRefusedStreamsAreTriedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		refused int
		code    http2.ErrCode
		fails   string
		says    string
	}{
		{1, http2.ErrCodeRefusedStream, "", ""}, {10 * mostTries, http2.ErrCodeRefusedStream, "REFUSED_STREAM", ""},
		{-1, 0, "the target ended the connection", ""}, {1, http2.ErrCodeProtocol, "", "PROTOCOL_ERROR"},
	} {
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
			refusing(conn, c.refused, c.code) // ends with the connection
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
		if (err != nil) != (c.fails != "") || err == nil && !o.Done || err != nil && !strings.Contains(err.Error(), c.fails) ||
			!strings.Contains(o.Says, c.says) || (o.Class == streamReset) != (c.says != "") {
			t.Errorf("after %d streams reset by %v: %+v, %v", c.refused, c.code, o, err)
		}
	}
}
