package rtpfeed

import (
	"encoding/binary"
	"sync"

	"github.com/sluice-go/sluice/mem"
)

// A Kept holds the newest packets of pictures of a feed, in the memory that the stream
// of packets has too, for viewers who have lost some.
type Kept struct {
	mu    sync.RWMutex
	slots []slot // by number modulo their count
}

// A slot is one packet.
type slot struct {
	unit     *keptUnit // nil: none
	number   uint16
	from, to int // in the unit's bytes
}

// keptUnit is the packets of one picture.
type keptUnit struct {
	packets mem.Buf
	slots   int // that have it
}

func newKept(n int) *Kept { return &Kept{slots: make([]slot, n)} }

// add takes the packets of a picture, transferred.
func (k *Kept) add(packets mem.Buf) {
	k.mu.Lock()
	defer k.mu.Unlock()
	u := &keptUnit{packets: packets}
	p := u.packets.Bytes()
	for at := 0; at+FrameHead <= len(p); {
		n := frameSize(p[at:])
		packet := p[at+FrameHead : at+n]
		if p[at+1]%2 == 0 && len(packet) >= 12 { // not of RTCP
			number := binary.BigEndian.Uint16(packet[2:])
			s := &k.slots[int(number)%len(k.slots)]
			s.drop()
			*s = slot{u, number, at + FrameHead, at + n}
			u.slots++
		}
		at += n
	}
	if u.slots == 0 {
		u.packets.Release() //sluicevet:ignore no slot has the unit
	}
}

// drop releases what a slot has.
func (s *slot) drop() {
	if s.unit == nil {
		return
	}
	if s.unit.slots--; s.unit.slots == 0 {
		s.unit.packets.Release()
	}
	s.unit = nil
}

// Append appends the packet with a number to dst, and reports whether it is still there.
func (k *Kept) Append(dst []byte, number uint16) ([]byte, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	s := k.slots[int(number)%len(k.slots)]
	if s.unit == nil || s.number != number {
		return dst, false
	}
	return append(dst, s.unit.packets.Bytes()[s.from:s.to]...), true
}

// close releases everything, once the feed adds no more.
func (k *Kept) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.slots {
		k.slots[i].drop()
	}
}
