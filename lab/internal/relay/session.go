package relay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// rtmpClient is the client's side of an RTMP connection up to the stream, with as
// few round trips as possible: the handshake, and then all commands at once.
type rtmpClient struct {
	split   *rtmpSplit
	opening []byte // S0, S1 and S2 as far as they have come
	open    bool   // the handshake is over
	work    *Work
	publish bool
	granted bool // the publisher may send
	send    func(p []byte) error
	window  int // acknowledge every so many bytes; 0: never
	got     int
	acked   int
}

// hello is C0 and C1 of the plain handshake (RTMP 1.0, 5.2).
func hello() []byte {
	p := make([]byte, 1+handshakeLen)
	p[0] = 3
	for i := 9; i < len(p); i++ {
		p[i] = byte(i * 7)
	}
	return p
}

func (c *rtmpClient) feed(p []byte, to sink) error {
	c.got += len(p)
	if !c.open {
		n := min(len(p), 1+2*handshakeLen-len(c.opening))
		c.opening = append(c.opening, p[:n]...)
		if p = p[n:]; len(c.opening) < 1+2*handshakeLen {
			return nil
		}
		if c.opening[0] != 3 {
			return fmt.Errorf("%w: the server speaks RTMP version %d", ErrStream, c.opening[0])
		}
		if err := c.send(c.commands(append([]byte(nil), c.opening[1:1+handshakeLen]...))); err != nil {
			return err
		}
		c.open, c.opening = true, nil
	}
	if err := c.split.feed(p, to); err != nil {
		return err
	}
	if c.window > 0 && c.got-c.acked >= c.window {
		c.acked = c.got
		return c.send(appendControl(nil, kindAck, uint32(c.got)))
	}
	return nil
}

// commands appends to C2 all that a client says up to the stream. That the
// server gives it message stream 1 is assumed, as every server does.
func (c *rtmpClient) commands(p []byte) []byte {
	url := "rtmp://" + c.work.Publish + "/" + c.work.App
	limit := defaultChunk
	if c.publish {
		limit = outChunk
		p = appendControl(p, kindChunkSize, outChunk)
	}
	p = appendCommand(p, 0, limit, "connect", 1, []pair{
		{"app", c.work.App}, {"flashVer", "LNX 9,0,124,2"}, {"tcUrl", url},
	})
	if c.publish {
		p = appendCommand(p, 0, limit, "releaseStream", 2, nil, c.work.Stream)
		p = appendCommand(p, 0, limit, "FCPublish", 3, nil, c.work.Stream)
	}
	p = appendCommand(p, 0, limit, "createStream", 4, nil)
	if c.publish {
		return appendCommand(p, streamID, limit, "publish", 5, nil, c.work.Stream, "live")
	}
	return appendCommand(p, streamID, limit, "play", 5, nil, c.work.Stream, -2000)
}

// note answers what a server says besides media.
func (c *rtmpClient) note(kind uint8, p []byte) error {
	switch {
	case kind == kindWindow && len(p) == 4:
		c.window = int(binary.BigEndian.Uint32(p)) / 2
	case kind == kindUser && len(p) == 6 && binary.BigEndian.Uint16(p) == eventPing:
		return c.send(appendEvent(nil, eventPong, binary.BigEndian.Uint32(p[2:])))
	case kind == kindCommand:
		return c.command(p)
	}
	return nil
}

// errDismissed is the error of a viewer to which the server has announced the end of
// the stream.
var errDismissed = errors.New("relay: the server ends the stream")

// refusals are the codes after which there will be no stream.
var refusals = []string{"NetStream.Play.StreamNotFound", "NetStream.Play.Failed", "NetStream.Publish.BadName", "NetStream.Publish.Denied",
	"NetStream.Failed", "NetConnection.Connect.Rejected", "NetStream.Play.UnpublishNotify", "NetStream.Play.Stop"}

func (c *rtmpClient) command(p []byte) error {
	switch commandName(p) {
	case "onStatus":
		for _, code := range refusals {
			if strings.Contains(string(p), code) {
				return fmt.Errorf("%w: %s", errDismissed, code)
			}
		}
		if c.publish && strings.Contains(string(p), "NetStream.Publish.Start") {
			c.granted = true
		}
	case "_error":
		// Servers may know nothing of releaseStream and FCPublish.
		if strings.Contains(string(p), "Rejected") {
			return fmt.Errorf("%w: the server refuses the connection: %.200q", ErrStream, p)
		}
	}
	return nil
}
