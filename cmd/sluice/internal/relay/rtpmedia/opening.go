package rtpmedia

import (
	"time"

	"github.com/sluice-go/sluice/mem"
)

// An opening holds the first packets of two tracks until there is a report on each, which
// says how picture and sound belong together: the first units decide that. A sender sends
// the reports first, but they may come by another socket, or be read by another goroutine.
type opening struct {
	begun time.Time // when the first packet came; zero: none has come
	over  bool
	held  []heldPacket
}

type heldPacket struct {
	track  int
	packet mem.Buf
	now    time.Time
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

// release releases what is held.
func (o *opening) release() {
	for _, h := range o.held {
		h.packet.Release()
	}
	o.held, o.over = nil, true
}
