package rtpmedia

import (
	"encoding/binary"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"

	"github.com/sluice-go/sluice/mem"
)

const (
	// window is how many numbers behind a missing packet others are held for it, where
	// it is not sent again: it is late then, by a few.
	window = 64
	// repairWindow is the same where it is sent again: a second of 20 Mb/s.
	repairWindow = 2048
	// jump is from how many numbers on a packet begins a new sequence (RFC 3550,
	// appendix A.1, MAX_DROPOUT).
	jump = 3000
)

// An order puts the packets of a track in order, and counts what is lost.
type order struct {
	begun    bool
	next     uint16 // the number that is due
	held     []held // by number modulo their count; nil before the first
	waiting  int
	bytes    int           // of the packets that wait
	repair   time.Duration // for how long packets are held for one that is sent again; 0: it is not
	now      time.Time     // when the packet in work came
	since    time.Time     // when the first came that waits
	gap      bool          // something is missing before what is due
	received uint64
	lost     uint64
	late     uint64 // came after they were given up, or twice
	base     uint64 // extended number of the first
	highest  uint64 // extended number of the newest

	// For reports.
	ssrc           uint32
	jitter         float64
	transit        int64
	before         uint64 // received at the latest report
	expectedBefore uint64
	sender         senderReport
}

// senderReport is the latest report of the sender.
type senderReport struct {
	middle uint32 // bits of its time; 0: there was none
	at     time.Time
}

type held struct {
	header  rtp.Header
	payload mem.Buf
}

// push takes a packet, transferred, and yields packets in order, transferred, with
// whether something is missing before them.
func (o *order) push(h rtp.Header, payload mem.Buf, yield func(rtp.Header, mem.Buf, bool)) {
	o.received++
	if !o.begun {
		o.begun, o.next, o.ssrc = true, h.SequenceNumber, h.SSRC
		o.base = 1<<16 | uint64(h.SequenceNumber)
		o.highest = o.base
	}
	ahead := int16(h.SequenceNumber - o.next)
	if ahead > jump || ahead < -jump || h.SSRC != o.ssrc {
		// The sender has begun again.
		o.flush(yield)
		o.next, o.ssrc = h.SequenceNumber, h.SSRC
		o.base = (o.highest>>16+1)<<16 | uint64(h.SequenceNumber)
		o.highest, o.jitter = o.base, 0
		o.received, o.before, o.expectedBefore = 1, 0, 0
		o.gap = true
		o.give(h, payload, yield)
		return
	}
	if d := int16(h.SequenceNumber - uint16(o.highest)); d > 0 {
		o.highest += uint64(d)
	}
	switch {
	case ahead < 0:
		o.late++
		payload.Release()
		return
	case ahead == 0:
		o.give(h, payload, yield)
		o.drain(yield)
		return
	}
	if o.held == nil {
		o.held = make([]held, o.size())
	}
	for int(int16(h.SequenceNumber-o.next)) >= len(o.held) {
		o.step(yield)
	}
	if h.SequenceNumber == o.next {
		o.give(h, payload, yield)
		o.drain(yield)
		return
	}
	place := o.place(h.SequenceNumber)
	if place.payload.Valid() {
		o.late++
		payload.Release()
		return
	}
	o.bytes += payload.Len()
	place.header, place.payload = h, payload //sluice:moved
	if o.waiting++; o.waiting == 1 {
		o.since = o.now
	}
	if o.waiting >= len(o.held)/2 || o.repair > 0 && o.now.Sub(o.since) >= o.repair {
		for !o.take(yield) {
			o.miss()
		}
		o.drain(yield)
		o.since = o.now
	}
}

// size is how many packets are held.
func (o *order) size() int {
	if o.repair > 0 {
		return repairWindow
	}
	return window
}

func (o *order) place(number uint16) *held { return &o.held[int(number)%len(o.held)] }

// give yields the packet that is due. One of padding alone, by which browsers probe a line,
// has nothing but its number.
func (o *order) give(h rtp.Header, payload mem.Buf, yield func(rtp.Header, mem.Buf, bool)) {
	o.next++
	if payload.Len() == 0 {
		payload.Release()
		return
	}
	gap := o.gap
	o.gap = false
	yield(h, payload, gap)
}

// miss gives up the packet that is due.
func (o *order) miss() {
	o.lost++
	o.next++
	o.gap = true
}

// take yields the held packet that is due, if there is one.
func (o *order) take(yield func(rtp.Header, mem.Buf, bool)) bool {
	if o.waiting == 0 {
		return false
	}
	place := o.place(o.next)
	if !place.payload.Valid() {
		return false
	}
	payload := place.payload //sluice:moved
	place.payload = mem.Buf{}
	o.waiting--
	o.bytes -= payload.Len()
	o.give(place.header, payload, yield)
	return true
}

// step yields the packet that is due, or gives it up.
func (o *order) step(yield func(rtp.Header, mem.Buf, bool)) {
	if !o.take(yield) {
		o.miss()
	}
}

// drain yields the held packets that are due.
func (o *order) drain(yield func(rtp.Header, mem.Buf, bool)) {
	for o.waiting > 0 && o.take(yield) {
	}
}

// flush yields all that is held.
func (o *order) flush(yield func(rtp.Header, mem.Buf, bool)) {
	for o.waiting > 0 {
		o.step(yield)
	}
}

// drop releases all that is held.
func (o *order) drop() {
	for i := range o.held {
		if o.held[i].payload.Valid() {
			o.held[i].payload.Release()
			o.held[i].payload = mem.Buf{}
		}
	}
	o.waiting, o.bytes = 0, 0
}

// arrived keeps the jitter (RFC 3550, appendix A.8).
func (o *order) arrived(at time.Time, clock int, timestamp uint32) {
	o.now = at
	now := int64(float64(at.UnixNano()%(1<<50)) / 1e9 * float64(clock))
	transit := now - int64(timestamp)
	if o.transit != 0 {
		d := float64(int32(transit - o.transit))
		if d < 0 {
			d = -d
		}
		o.jitter += (d - o.jitter) / 16
	}
	o.transit = transit
}

// report returns the receiver report on the track (RFC 3550, section 6.4.2).
func (o *order) report(now time.Time) rtcp.ReceptionReport {
	expected := o.highest - o.base + 1
	r := rtcp.ReceptionReport{SSRC: o.ssrc, LastSequenceNumber: uint32(o.highest), Jitter: uint32(o.jitter)}
	if expected > o.received {
		r.TotalLost = uint32(min(expected-o.received, 1<<23-1))
	}
	if due, got := expected-o.expectedBefore, o.received-o.before; due > got && due > 0 {
		r.FractionLost = uint8(min((due-got)<<8/due, 255))
	}
	o.expectedBefore, o.before = expected, o.received
	if o.sender.middle != 0 {
		r.LastSenderReport = o.sender.middle
		r.Delay = uint32(now.Sub(o.sender.at).Seconds() * 65536)
	}
	return r
}

// u16 is what binary calls it, for slices that are long enough.
func u16(p []byte) int { return int(binary.BigEndian.Uint16(p)) }
