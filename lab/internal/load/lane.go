package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

var (
	// ErrAnswer is an answer that does not belong to the request.
	ErrAnswer = errors.New("load: wrong answer")
	// ErrSilent is a target that has not answered within Plan.Patience.
	ErrSilent = errors.New("load: no answer")
	// ErrHungUp is a target that has ended a connection.
	ErrHungUp = errors.New("load: the target ended the connection")
)

// never is a time after every run.
const never = math.MaxInt64

// A request is a request under way. Times are nanoseconds since the run began.
type request struct {
	intended int64 // when it was due; in a closed loop, when it was sent
	ideal    int64 // when a generator that is never late would have sent it
	sent     int64
	seq      uint64
	size     int
}

// A lane holds the requests that one connection has to send and those that wait
// for an answer. It does not depend on the engine that moves the bytes. It is used
// by one goroutine at a time.
type lane struct {
	number   uint32
	content  *content
	verify   bool
	depth    int
	draw     func() int
	schedule *schedule // nil in a closed loop

	due   int64 // when the next request is due; 0 in a closed loop
	size  int   // the next one's
	ready int64 // since when the connection can take bytes
	seq   uint64

	flights []request // a ring: as many as depth
	free    []int64   // for each place in it, since when it would have been free without the generator's delays
	first   int       // the oldest that has not been answered
	count   int
	unsent  int // how many of the newest have not been sent completely
	off     int // bytes of the first of them that are gone
	got     int // bytes of the oldest one's answer that have come
	ack     [ackLen]byte
	stamp   [stampLen]byte // to take sums with
}

func newLane(p *Plan, c *content, number int) *lane {
	l := &lane{
		number: uint32(number), content: c, verify: p.Verify, depth: p.Depth,
		draw: p.Sizes.Draw(p.Seed + uint64(number)), schedule: newSchedule(p, number),
		flights: make([]request, p.Depth), free: make([]int64, p.Depth),
	}
	l.plan()
	return l
}

// plan draws the next request.
func (l *lane) plan() {
	l.size = l.draw()
	if l.schedule != nil {
		l.due = l.schedule.next(l.size)
	}
}

// next returns when the next request may be sent: never while depth requests are
// under way.
func (l *lane) next() int64 {
	if l.count == l.depth {
		return never
	}
	return l.due
}

// begin puts the next request under way, and returns it, borrowed until it is
// answered, and how late it is by the generator's own fault. The delay
// passes from request to request: a request that waits for requests which the
// generator delayed is late because of the generator, not because of the target.
func (l *lane) begin(now int64) (r *request, late int64) {
	at := (l.first + l.count) % l.depth
	r = &l.flights[at]
	*r = request{intended: now, ideal: now, sent: now, seq: l.seq, size: l.size}
	if l.schedule != nil {
		r.intended = l.due
		r.ideal = min(now, max(l.due, l.free[at], l.ready))
		late = now - r.ideal
	}
	l.seq++
	l.count++
	l.unsent++
	l.plan()
	return r, late
}

// pending writes the bytes to send next into buf and returns them. For a long request
// it returns the request's own bytes, borrowed. It returns none when nothing is due.
func (l *lane) pending(buf []byte) []byte {
	n, off := 0, l.off
	for i := l.count - l.unsent; i < l.count; i++ {
		r := &l.flights[(l.first+i)%l.depth]
		left := l.content.wire(r.size) - off
		if n == 0 && left > len(buf) && off >= headLen {
			return l.content.rest(r.size, off)
		}
		n += l.content.write(buf[n:], l.number, r.seq, r.size, off)
		if n == len(buf) {
			break
		}
		off = 0
	}
	return buf[:n]
}

// gone notes that n of the pending bytes have been sent.
func (l *lane) gone(n int) {
	for n > 0 {
		r := &l.flights[(l.first+l.count-l.unsent)%l.depth]
		left := l.content.wire(r.size) - l.off
		if n < left {
			l.off += n
			return
		}
		n -= left
		l.off = 0
		l.unsent--
	}
}

// take consumes received bytes, up to the end of the oldest request's answer. It
// returns the rest, and whether the answer is complete: then the caller must call
// answered.
func (l *lane) take(p []byte) (rest []byte, whole bool, err error) {
	if l.count == 0 {
		return nil, false, fmt.Errorf("%w: %d bytes that were not asked for", ErrAnswer, len(p))
	}
	r := &l.flights[l.first]
	length := l.content.answer(r.size)
	n := min(len(p), length-l.got)
	if sent := l.content.wire(r.size); !l.content.acked && l.count == l.unsent && l.got+n > l.off && l.off < sent {
		return nil, false, fmt.Errorf("%w: %d bytes came back of a request of which %d were sent", ErrAnswer, l.got+n, l.off)
	}
	switch {
	case l.content.acked:
		copy(l.ack[l.got:], p[:n])
	case l.verify:
		if !l.content.matches(p[:n], l.number, r.seq, r.size, l.got) {
			return nil, false, fmt.Errorf("%w: bytes %d to %d of what came back for request %d of connection %d are not what was sent",
				ErrAnswer, l.got, l.got+n, r.seq, l.number)
		}
	case l.content.framed && l.got < lengthLen:
		// Enough to notice that the two have lost step.
		var h [lengthLen]byte
		binary.BigEndian.PutUint32(h[:], uint32(r.size))
		for i, b := range p[:min(n, lengthLen-l.got)] {
			if b != h[l.got+i] {
				return nil, false, fmt.Errorf("%w: another length than the %d bytes of request %d of connection %d", ErrAnswer, r.size, r.seq, l.number)
			}
		}
	}
	l.got += n
	return p[n:], l.got == length, nil
}

// number is what the target acknowledged with, once an answer is whole.
func (l *lane) acknowledged() uint64 { return binary.BigEndian.Uint64(l.ack[:]) }

// answered takes the oldest request off, whose answer is whole.
func (l *lane) answered(now int64) request {
	r := l.flights[l.first]
	l.free[l.first] = r.ideal + now - r.sent
	l.first = (l.first + 1) % l.depth
	l.count--
	l.got = 0
	return r
}

// lost drops all requests under way, because their connection has ended. From now on
// the lane sends on a new connection.
func (l *lane) lost(now int64) (requests int) {
	requests = l.count
	l.first, l.count, l.unsent, l.off, l.got = 0, 0, 0, 0, 0
	clear(l.free)
	l.ready = now
	return requests
}

// missed returns how many requests were due before end and have not been sent.
func (l *lane) missed(end int64, p *Plan) float64 {
	if l.schedule == nil || l.due >= end {
		return 0
	}
	each := p.Rate / float64(p.Conns)
	if p.RateBytes {
		each /= p.Sizes.Mean()
	}
	return math.Ceil(float64(end-l.due)/1e9*each - 1e-6)
}
