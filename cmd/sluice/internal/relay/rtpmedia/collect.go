package rtpmedia

import (
	"fmt"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
)

// A Sample is one access unit as it came.
type Sample struct {
	Timestamp uint32  // of RTP
	Packed    mem.Buf // as au.Joiner.Frame takes it; retained by the receiver
}

// A Collector makes access units of the packets of one track. It puts packets in order,
// and leaves out units of which a part is missing.
type Collector struct {
	format  Format
	alloc   *mem.Allocator
	limit   int // bytes of a unit
	deliver func(Sample) error

	order order
	unit  unit
	at    uint32 // timestamp of the unit in work
	// element is how long the frame of MP4A-LATM in work is, in bytes.
	element int
	bad     bool // a part of the unit in work is missing
	err     error
	ssrc    uint32 // its own, for reports

	dropped uint64 // units that were left out

	hold    func(bytes int) error // see Intake.Bound; nil: no bound
	holding int                   // what it was called with
}

// NewCollector makes a Collector of units of at most limit bytes, which it gives to
// deliver. An error of deliver ends the track.
func NewCollector(f Format, alloc *mem.Allocator, limit int, deliver func(Sample) error) *Collector {
	return &Collector{format: f, alloc: alloc, limit: limit, deliver: deliver, ssrc: 1}
}

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
	if err != nil || h.PayloadType != c.format.PayloadType || len(p) <= n {
		packet.Release()
		return nil
	}
	payload := packet.RetainedSlice(n, len(p))
	packet.Release()
	c.order.arrived(now, c.format.Clock, h.Timestamp)
	c.order.push(h, payload, c.take)
	return c.err
}

// Control takes an RTCP packet, borrowed until it returns, and returns the sender's
// clock: the time that it says a timestamp has. Bytes that are no such report are
// passed over.
func (c *Collector) Control(p []byte, now time.Time) (ntp uint64, timestamp uint32, ok bool) {
	const most = 2048
	if len(p) > most {
		return 0, 0, false
	}
	list, err := rtcp.Unmarshal(p)
	if err != nil {
		return 0, 0, false
	}
	for _, one := range list {
		if r, is := one.(*rtcp.SenderReport); is {
			c.order.senderReport, c.order.senderReportAt = uint32(r.NTPTime>>16), now
			return r.NTPTime, r.RTPTime, true
		}
	}
	return 0, 0, false
}

// Report returns a receiver report on the track as an RTCP packet, nil before there
// was a packet.
func (c *Collector) Report(now time.Time) []byte {
	if !c.order.begun {
		return nil
	}
	p, err := (&rtcp.ReceiverReport{SSRC: c.ssrc, Reports: []rtcp.ReceptionReport{c.order.report(now)}}).Marshal()
	if err != nil {
		return nil
	}
	return p
}

// Losses are what a track has missed.
type Losses struct {
	Packets uint64 // that never came
	Late    uint64 // that came after they were given up, or twice
	Units   uint64 // that were left out for it
}

// Losses returns what the track has missed so far.
func (c *Collector) Losses() Losses {
	return Losses{Packets: c.order.lost, Late: c.order.late, Units: c.dropped}
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
	c.at = h.Timestamp
	if err := c.sound(payload, h.Marker); err != nil {
		c.fail(err)
	}
}

func (c *Collector) takeVideo(h rtp.Header, payload mem.Buf, gap bool) {
	if !c.unit.empty() && h.Timestamp != c.at {
		c.finish() // without a marker, or it is missing
	}
	if gap {
		// What is missing may be of the unit before, of this one, or of both.
		if !c.unit.empty() {
			c.bad = true
		}
		c.unit.broken = true
	}
	c.at = h.Timestamp
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
	if err := c.report(c.unit.size + payload.Len()); err != nil {
		payload.Release()
		c.fail(err)
		return
	}
	p := c.unit.hold(payload)
	var ok bool
	switch c.format.Codec {
	case flv.CodecAVC:
		ok = c.unit.avc(p) //sluicevet:ignore hold keeps the packet until the unit's reset
	case flv.CodecHEVC:
		ok = c.unit.hevc(p)
	case flv.CodecAV1:
		ok = c.unit.av1(p)
	case flv.CodecVP9:
		ok = c.unit.vp9(p)
	}
	if !ok {
		c.bad = true
	}
	if h.Marker {
		c.finish()
	}
}

// holdStep is in which steps, in bytes, a Collector says how much of a unit it has.
const holdStep = 64 << 10

// report says that the unit in work has n bytes.
func (c *Collector) report(n int) error {
	n = n / holdStep * holdStep
	if c.hold == nil || n <= c.holding {
		return nil
	}
	c.holding = n
	return c.hold(n)
}

// reset lets go of the unit in work.
func (c *Collector) reset() {
	c.unit.reset()
	if c.holding > 0 {
		c.holding = 0
		_ = c.hold(0) // less is no error
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

// send delivers a packed unit, transferred.
func (c *Collector) send(packed mem.Buf) {
	if err := c.deliver(Sample{Timestamp: c.at, Packed: packed}); err != nil {
		c.fail(err)
	}
}

func (c *Collector) abandon() {
	if !c.unit.empty() {
		c.dropped++
	}
	c.reset()
	c.bad = false
}

func (c *Collector) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.reset()
}
