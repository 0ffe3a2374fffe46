package rtmp

import (
	"encoding/binary"
	"fmt"
)

// leastWindow is the acknowledgement window in bytes that a smaller one is
// taken for: a peer that asks for an acknowledgement of each byte gets one
// for what a small read brings.
const leastWindow = 4096

// control deals with a message of the connection itself (specification,
// sections 5.4 and 6.2). p is borrowed until it returns.
func (c *Conn) control(typ MessageType, p []byte) error {
	need := 0
	switch typ {
	case TypeWindowAckSize, TypeSetPeerBandwidth, TypeAcknowledgement:
		need = 4
	case TypeUserControl:
		need = 2
	}
	if len(p) < need {
		return fmt.Errorf("%w: %v of %d bytes", ErrProtocol, typ, len(p))
	}
	switch typ {
	case TypeWindowAckSize:
		c.setWindow(binary.BigEndian.Uint32(p))
	case TypeSetPeerBandwidth:
		c.grant(binary.BigEndian.Uint32(p))
	case TypeUserControl:
		c.event(Event(binary.BigEndian.Uint16(p)), p[2:])
	}
	return nil
}

// setWindow takes the peer's acknowledgement window. Zero asks for none.
func (c *Conn) setWindow(size uint32) {
	c.window = int64(size)
	if size > 0 {
		c.window = max(c.window, leastWindow)
	}
}

// acknowledge tells the peer how many bytes have come when it is time
// (section 5.4.3): at most once for each read from the connection, since all
// received bytes count, those not yet looked at too. The number wraps at 2^32.
func (c *Conn) acknowledge() {
	if c.window == 0 {
		return
	}
	got := c.r.TotalRead() - c.base
	if got-c.acked < c.window {
		return
	}
	c.acked = got
	c.reply(reply{typ: TypeAcknowledgement, value: uint32(got)})
	// A peer may have stopped in the middle of a message to wait for it.
	c.settle()
}

// grant answers a Set Peer Bandwidth message: with this side's acknowledgement
// window, unless that value was sent already (section 5.4.5).
func (c *Conn) grant(size uint32) {
	if size != c.asked {
		c.asked = size
		c.reply(reply{typ: TypeWindowAckSize, value: size})
	}
}

// event deals with a user control message (section 6.2).
func (c *Conn) event(e Event, p []byte) {
	var v uint32
	if len(p) >= 4 {
		v = binary.BigEndian.Uint32(p)
	}
	if e == EventPingRequest {
		c.reply(reply{typ: TypeUserControl, event: EventPingResponse, value: v})
		return
	}
	if c.options.OnEvent != nil {
		c.options.OnEvent(e, v)
	}
}

// Ping asks the peer for a sign of life: a client answers with the same time in
// milliseconds, which arrives as EventPingResponse. It flushes.
func (c *Conn) Ping(time uint32) error {
	c.lock()
	defer c.mu.Unlock()
	if err := c.out.writeEvent(EventPingRequest, time); err != nil {
		return err
	}
	return c.w.Flush()
}

// writeEvent writes a user control message.
func (c *Conn) writeEvent(e Event, v ...uint32) error {
	c.lock()
	defer c.mu.Unlock()
	return c.out.writeEvent(e, v...)
}
