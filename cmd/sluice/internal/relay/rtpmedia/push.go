package rtpmedia

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/mem"
)

// Push takes an RTP packet of a track, transferred, that came at a time. After an error
// there is no way on: it is publish's, or as of Collector.Push.
func (x *Intake) Push(track int, packet mem.Buf, now time.Time) error {
	if !x.Takes(track) {
		packet.Release()
		return nil
	}
	if x.waits(now) {
		return x.opening.keep(heldPacket{track, packet, now})
	}
	if err := x.open(); err != nil {
		packet.Release()
		return err
	}
	return x.push(track, packet, now)
}

const (
	// openingTime is for how long packets are held.
	openingTime = 100 * time.Millisecond
	// maxHeld bounds the packets that are held: those of a key frame of 300 KB.
	maxHeld = 256
)

// waits reports whether a packet that comes now has to be held.
func (x *Intake) waits(now time.Time) bool {
	o := &x.opening
	if o.over {
		return false
	}
	if o.begun.IsZero() {
		o.begun = now
	}
	return len(o.held) < maxHeld && now.Sub(o.begun) < openingTime && !x.reported()
}

// reported reports whether there is nothing to wait for.
func (x *Intake) reported() bool {
	tracks, without := 0, 0
	for _, t := range x.tracks {
		if t != nil {
			tracks++
			if !t.reported {
				without++
			}
		}
	}
	return tracks < 2 || without == 0
}

// open ends the waiting, and gives on what is held.
func (x *Intake) open() error {
	o := &x.opening
	o.over = true
	o.free()
	for len(o.held) > 0 {
		h := o.held[0]
		o.held = o.held[1:]
		if err := x.push(h.track, h.packet, h.now); err != nil {
			return err
		}
	}
	o.held = nil
	return nil
}

func (x *Intake) push(track int, packet mem.Buf, now time.Time) error {
	t := x.tracks[track]
	t.now = now
	return t.collector.Push(packet, now)
}

// Close releases what waits for more.
func (x *Intake) Close() {
	x.opening.release()
	for _, t := range x.tracks {
		if t != nil {
			t.collector.Close()
		}
	}
}

// release releases what is held.
func (o *opening) release() {
	for _, h := range o.held {
		h.packet.Release()
	}
	o.held, o.over = nil, true
	o.free()
}

// has reports whether a packet of a track is held.
func (o *opening) has(track int) bool {
	return slices.ContainsFunc(o.held, func(h heldPacket) bool { return h.track == track })
}

// keep holds a packet, transferred.
func (o *opening) keep(h heldPacket) error {
	before := o.bytes / holdStep
	o.bytes += h.packet.Len()
	o.held = append(o.held, h)
	if now := o.bytes / holdStep; o.hold != nil && now > before {
		return o.hold(now * holdStep)
	}
	return nil
}

// free says that nothing is held, or soon.
func (o *opening) free() {
	if o.hold != nil && o.bytes >= holdStep {
		_ = o.hold(0) // less is no error
	}
	o.bytes = 0
}
