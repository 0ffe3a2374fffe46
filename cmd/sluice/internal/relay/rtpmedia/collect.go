package rtpmedia

import (
	"fmt"
	"time"

	"github.com/pion/rtp"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
)

// Push takes an RTP packet, transferred, that came at a time. Bytes that are no packet
// of the track are passed over. An error is deliver's, or matches ErrTooLong or
// mem.ErrBudget; there is no way on after it.
func (c *Collector) Push(packet mem.Buf, now time.Time) error {
	if c.err != nil {
		packet.Release()
		return c.err
	}
	var h rtp.Header
	p := packet.Bytes()
	n, err := h.Unmarshal(p)
	if err == nil && h.Padding {
		if last := int(p[len(p)-1]); last > 0 && last <= len(p)-n {
			p = p[:len(p)-last]
		}
	}
	if err != nil || h.PayloadType != c.format.PayloadType {
		packet.Release()
		return nil
	}
	payload := packet.RetainedSlice(n, len(p))
	packet.Release()
	h.Extensions, h.CSRC = nil, nil // not used, and they may be a megabyte, with each packet that waits
	c.order.arrived(now, c.format.Clock, h.Timestamp)
	c.order.push(h, payload, c.take)
	if err := c.report(0, c.unit.empty()); err != nil {
		c.fail(err)
	}
	return c.err
}

// Close releases what waits for more.
func (c *Collector) Close() {
	c.order.drop()
	c.reset()
}

// take takes a packet in order, transferred; gap says that one before it is missing.
func (c *Collector) take(h rtp.Header, payload mem.Buf, gap bool) {
	if c.err != nil {
		payload.Release()
		return
	}
	if c.format.Video {
		c.takeVideo(h, payload, gap)
		return
	}
	if gap {
		c.abandon()
	}
	c.at, c.from = h.Timestamp, h.SSRC
	if err := c.sound(payload, h.Marker); err != nil {
		c.fail(err)
	}
}

func (c *Collector) takeVideo(h rtp.Header, payload mem.Buf, gap bool) {
	if !c.unit.empty() && h.Timestamp != c.at && (c.bad || !c.unit.aside(c.format.Codec)) {
		c.finish() // without a marker, or it is missing
	}
	if gap {
		// What is missing may be of the unit before, of this one, or of both.
		if !c.unit.empty() {
			c.bad = true
		}
		c.unit.broken = true
	}
	c.at, c.from = h.Timestamp, h.SSRC
	if c.unit.size+payload.Len() > c.limit {
		payload.Release()
		c.fail(fmt.Errorf("%w: more than %d bytes", ErrTooLong, c.limit))
		return
	}
	if len(c.unit.bufs) >= maxPackets {
		payload.Release()
		c.fail(fmt.Errorf("%w: more than %d packets", ErrTooLong, maxPackets))
		return
	}
	if err := c.report(payload.Len(), false); err != nil {
		payload.Release()
		c.fail(err)
		return
	}
	p := c.unit.hold(c.dense(payload))
	// What is left out, or has more units than a reader takes, is not looked at any further.
	c.bad = c.bad || !c.unit.take(c.format.Codec, p) || len(c.unit.starts) > au.MaxUnits
	if h.Marker && (c.bad || !c.unit.aside(c.format.Codec)) {
		c.finish()
	}
}

// maxPackets bounds the packets of one unit: 8 MiB in packets of 512 bytes.
const maxPackets = 16 << 10

// finish delivers the unit in work, if it is whole.
func (c *Collector) finish() {
	defer c.reset()
	if c.bad || c.unit.open || len(c.unit.pieces) == 0 {
		if !c.unit.empty() {
			c.dropped++
		}
		c.bad = false
		return
	}
	size := au.Room + c.unit.size + packedExtra*len(c.unit.starts)
	b, err := c.alloc.TryGet(size)
	if err != nil {
		c.fail(err)
		return
	}
	n := len(c.unit.pack(c.format.Codec, b.Bytes()[:au.Room]))
	packed := b.RetainedSlice(0, n)
	b.Release()
	c.send(packed)
}

// sound takes the payload of a packet, transferred.
func (c *Collector) sound(payload mem.Buf, marker bool) error {
	defer payload.Release()
	p := payload.Bytes()
	switch c.format.Codec {
	case flv.CodecAAC:
		if c.format.latm {
			return c.latm(payload)
		}
		return c.aac(payload)
	case flv.CodecMP3:
		if len(p) <= 4 {
			return nil
		}
		return c.mp3(payload, u16(p[2:]))
	case flv.CodecAC3:
		return c.ac3(payload)
	}
	return c.frame(p)
}
