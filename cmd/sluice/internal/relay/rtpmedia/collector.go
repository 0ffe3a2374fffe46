package rtpmedia

import (
	"encoding/binary"
	"time"

	"github.com/pion/rtcp"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/mem"
)

// A Sample is one access unit as it came.
type Sample struct {
	Timestamp uint32  // of RTP
	Another   bool    // its packets are of another source than those of the one before
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
	from  uint32 // its source, and that of the one before
	last  uint32
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

// Losses are what a track has missed.
type Losses struct {
	Packets uint64 // that never came
	Late    uint64 // that came after they were given up, or twice
	Units   uint64 // that were left out for it
}

// Control takes an RTCP packet, borrowed until it returns, and returns the sender's
// clock: the time that it says a timestamp has. Bytes that are no such report are
// passed over.
func (c *Collector) Control(p []byte, now time.Time) (ntp uint64, timestamp uint32, ok bool) {
	// Other packets beside the report need not be whole (RFC 3550, section 6.4.1).
	const report, length = 200, 28
	for len(p) >= length && p[0]>>6 == 2 {
		if p[1] == report {
			ntp, timestamp = binary.BigEndian.Uint64(p[8:]), binary.BigEndian.Uint32(p[16:])
			c.order.sender = senderReport{uint32(ntp >> 16), now}
			return ntp, timestamp, true
		}
		p = p[min(len(p), 4*(u16(p[2:])+1)):]
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

// Losses returns what the track has missed so far.
func (c *Collector) Losses() Losses {
	return Losses{Packets: c.order.lost, Late: c.order.late, Units: c.dropped}
}

// send delivers a packed unit, transferred.
func (c *Collector) send(packed mem.Buf) {
	another := c.from != c.last
	c.last = c.from
	if err := c.deliver(Sample{Timestamp: c.at, Another: another, Packed: packed}); err != nil {
		c.fail(err)
	}
}

func (c *Collector) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.reset()
}

func (c *Collector) abandon() {
	if !c.unit.empty() {
		c.dropped++
	}
	c.reset()
	c.bad = false
}

// reset lets go of the unit in work.
func (c *Collector) reset() {
	c.unit.reset()
	_ = c.report(0, true) // less is no error
}

// holdStep is in which steps, in bytes, a Collector says how much it holds.
const holdStep = 64 << 10

// report says what the unit in work has, with more bytes, and the packets that wait for one before
// them. Less is said when the unit is over.
func (c *Collector) report(more int, over bool) error {
	n := (c.unit.size + more + c.order.bytes) / holdStep * holdStep
	if c.hold == nil || n == c.holding || n < c.holding && !over {
		return nil
	}
	c.holding = n
	return c.hold(n)
}

// maxSound bounds a frame of sound that comes in fragments: more than one of AAC with 48
// channels has.
const maxSound = 64 << 10

// frame delivers a frame of sound, borrowed.
func (c *Collector) frame(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	b, err := c.alloc.TryGet(au.Room + len(p))
	if err != nil {
		return err
	}
	copy(b.Bytes()[au.Room:], p)
	c.send(b)
	return c.err
}

// keep holds a fragment of payload, borrowed, whose bytes from at on are the frame's. It
// reports false when there is too much.
func (c *Collector) keep(payload *mem.Buf, at int) bool {
	if c.unit.size+payload.Len() > maxSound || len(c.unit.bufs) > 256 {
		c.abandon()
		return false
	}
	view := c.unit.hold(c.dense(payload.RetainedSlice(at, payload.Len())))
	c.unit.pieces = append(c.unit.pieces, view) //sluicevet:ignore hold keeps the packet until the unit's reset, which drops the pieces too
	return true
}

// length is how many bytes of the frame in work there are.
func (c *Collector) length() int {
	n := 0
	for _, p := range c.unit.pieces {
		n += len(p)
	}
	return n
}

// parts is the frame in work, which came in fragments.
func (c *Collector) parts() error {
	defer c.reset()
	b, err := c.alloc.TryGet(au.Room + c.unit.size)
	if err != nil {
		return err
	}
	dst := b.Bytes()[:au.Room]
	for _, p := range c.unit.pieces {
		dst = append(dst, p...)
	}
	packed := b.RetainedSlice(0, len(dst))
	b.Release()
	c.send(packed)
	return c.err
}
