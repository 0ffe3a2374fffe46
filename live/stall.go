package live

import "time"

// stalled looks at what v's peer has acknowledged, and reports whether that has been
// nothing for too long although some bytes are on their way. Bytes in the kernel's
// buffer count, which may be megabytes.
func (v *Viewer) stalled(socket *socketWriter, now time.Time) bool {
	p, sent := &v.pulse, v.figures.bytes.Load()
	// Since the latest look there was nothing to acknowledge. A Write that blocks counts
	// when it has returned.
	unsent, known := 0, sent == p.acked && !v.link.waits
	if !known && v.link.raw != nil {
		unsent, known = socket.unsent(v.link.raw)
		unsent += v.link.kept()
	}
	acked := sent - int64(unsent)
	v.figures.queued.Store(int64(unsent))
	if known && !v.link.waits {
		v.judge(acked)
	}
	switch { // the state of one whose writes block is its own
	case acked > p.acked:
		p.acked, p.at = acked, now
	case unsent == 0 && (v.link.waits && known || !v.link.waits && v.state != stateBlocked):
		p.at = now
	case v.link.waits && !known:
		p.at = now // its write deadline sees to it
	default:
		return now.Sub(p.at) >= v.limits.Stall
	}
	return false
}

// youngBytes is how many bytes tell enough about a line.
const youngBytes = 64 << 10

// measure looks at the line of a viewer who is new, and reports whether that is enough: all
// that it was sent, a key frame at least or as much, has been acknowledged.
func (v *Viewer) measure(socket *socketWriter) bool {
	unsent, known := socket.unsent(v.link.raw)
	if !known {
		return false
	}
	unsent += v.link.kept()
	sent := v.figures.bytes.Load()
	v.judge(sent - int64(unsent))
	return unsent == 0 && sent >= youngBytes
}

// provenTime is for how long a line on which pictures were left out is measured when they are sent again.
const provenTime = 5 * time.Second

// judge finds out whether v's line is slow although its socket is not full: the
// network may hold that many bytes.
func (v *Viewer) judge(acked int64) {
	clock := v.stream.clock()
	age := v.figures.trail.age(acked, clock)
	switch most := v.limits.Lag; {
	case age > most/8:
		v.slowDown()
	case !v.line.slow:
	case age < most/16 && v.state == stateSteady && (v.line.left == 0 || clock-v.line.left > int64(provenTime)):
		// Not while pictures are left out: any line carries sound alone.
		v.line.slow = false
	}
}
