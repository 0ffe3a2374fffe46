package load

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load/wire"
	"github.com/sluice-go/sluice/lab/internal/units"
)

var (
	// ErrAnswer is an answer that does not belong to the request.
	ErrAnswer = wire.ErrReply
	// ErrSilent is a target that has not answered within Plan.Timeout.
	ErrSilent = errors.New("load: no answer")
	// ErrUnfinished is a reply of which a part has come, and nothing more within Plan.Timeout.
	ErrUnfinished = errors.New("load: an unfinished reply")
	// ErrHungUp is a target that has ended a connection.
	ErrHungUp = errors.New("load: the target ended the connection")
	// errReopen is a connection that the target has ended by the rules of its
	// protocol: the requests under way go to a new one.
	errReopen = errors.New("load: the target wants another connection")
)

// never is a time after every run.
const never = math.MaxInt64

// A request is a request under way. Times are nanoseconds since the run began.
type request struct {
	wire.Request
	intended int64 // when it was due; in a closed loop, when it was sent
	ideal    int64 // when a generator that is never late would have sent it
	sent     int64
	length   int // bytes on the wire
	outcome  wire.Outcome
}

// A pipeline holds the requests that one connection has to send and those that wait
// for an answer. It does not depend on the engine that moves the bytes. It is used
// by one goroutine at a time.
type pipeline struct {
	number   uint32
	speak    func() wire.Protocol // makes the protocol of a new connection
	protocol wire.Protocol
	reopen   bool // the target may end a connection between replies
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
	unsent  int // how many of the newest have not been sent completely, with those that were answered before that
	off     int // bytes of the first of them that are gone
	got     int // bytes of the oldest one's answer that have come
	served  int // answers on this connection
}

func newPipeline(p *Plan, number int, reopen bool, speak func() wire.Protocol) *pipeline {
	l := &pipeline{
		number: uint32(number), speak: speak, protocol: speak(), reopen: reopen, depth: p.Depth,
		draw: p.Sizes.Draw(p.Seed + uint64(number)), flights: make([]request, p.Depth), free: make([]int64, p.Depth),
	}
	if p.Rate > 0 {
		l.schedule = &schedule{first: float64(number) / p.Rate * 1e9, every: float64(p.Conns) / p.Rate * 1e9}
	}
	l.plan()
	return l
}

func (l *pipeline) plan() {
	l.size = l.draw()
	if l.schedule != nil {
		l.due = l.schedule.next()
	}
}

// next returns when the next request may be sent: never while depth requests are
// under way.
func (l *pipeline) next() int64 {
	if l.count == l.depth {
		return never
	}
	return l.due
}

// begin puts the next request under way, and returns it, borrowed until it is
// answered, and how late it is by the generator's own fault. The delay
// passes from request to request: a request that waits for requests which the
// generator delayed is late because of the generator, not because of the target.
func (l *pipeline) begin(now int64) (r *request, late int64) {
	at := (l.first + l.count) % l.depth
	r = &l.flights[at]
	*r = request{Request: wire.Request{Conn: l.number, Seq: l.seq, Size: l.size}, intended: now, ideal: now, sent: now}
	r.length = l.protocol.Len(&r.Request)
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
// it returns the request's own bytes, borrowed until the next call. It returns none
// when nothing is due.
func (l *pipeline) pending(buf []byte) []byte {
	n, off := 0, l.off
	for i := l.count - l.unsent; i < l.count; i++ {
		r := l.flight(i)
		for off < r.length {
			p := l.protocol.Bytes(&r.Request, off)
			if n == 0 && len(p) >= len(buf) {
				return p
			}
			k := copy(buf[n:], p)
			if n, off = n+k, off+k; n == len(buf) {
				return buf
			}
		}
		off = 0
	}
	return buf[:n]
}

// flight is the request behind so many others that are under way; before the oldest, at -1, is one
// that was answered before it was sent, and whose rest has to be.
func (l *pipeline) flight(i int) *request { return &l.flights[(l.first+i+l.depth)%l.depth] }

func (l *pipeline) gone(n int) {
	for n > 0 {
		left := l.flight(l.count-l.unsent).length - l.off
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
func (l *pipeline) take(p []byte) (rest []byte, whole bool, err error) {
	if l.count < l.unsent || l.count == l.unsent && l.off == 0 {
		if pusher, ok := l.protocol.(wire.Pusher); ok {
			if n, err := pusher.Pushed(p); n > 0 || err != nil {
				return p[n:], false, err
			}
		}
		return nil, false, fmt.Errorf("%w: %s that were not asked for: %.80q", ErrAnswer, units.Plural(len(p), "byte"), p)
	}
	r := &l.flights[l.first]
	if r.Sent = r.length; l.count == l.unsent {
		r.Sent = l.off
	}
	n, o, err := l.protocol.Reply(&r.Request, p)
	l.got += n
	r.outcome = o
	return p[n:], o.Done, err
}

// ended reports whether the target, which has ended the connection, has completed
// the oldest request's answer with it. Then the caller must call answered.
func (l *pipeline) ended() bool {
	if l.count == 0 {
		return false
	}
	r := &l.flights[l.first]
	r.outcome = l.protocol.End(&r.Request)
	return r.outcome.Done
}

// silent is the error of a target that says nothing more, with so many bytes of a reply come.
func silent(got int) error {
	if got == 0 {
		return ErrSilent
	}
	return fmt.Errorf("%w: it stopped behind %s and did not go on", ErrUnfinished, units.Plural(got, "byte"))
}

// hungUp is ErrHungUp, and says how much had come of a reply: a target that ends in one has failed in its work, one
// that ends between two may have been stopped.
func (l *pipeline) hungUp() error {
	if l.got == 0 {
		return ErrHungUp
	}
	return fmt.Errorf("%w in a reply, behind %s of it", ErrHungUp, units.Plural(l.got, "byte"))
}

// idled is how long a connection has to be without its first request to be ended for that, rather than
// because the target refuses connections.
const idled = int64(100 * time.Millisecond)

// reopens reports whether the target may end the connection now: between answers, or when it was
// idle before the first. It may then have ended it before it saw the requests under way.
func (l *pipeline) reopens(now int64) bool {
	if l.count > 0 {
		now = l.flights[l.first].sent
	}
	return l.reopen && l.got == 0 && (l.served > 0 || now-l.ready >= idled)
}

func (l *pipeline) answered(now int64) request {
	r := l.flights[l.first]
	l.free[l.first] = r.ideal + now - r.sent
	l.first = (l.first + 1) % l.depth
	l.count--
	l.got = 0
	l.served++
	return r
}

// lost drops all requests under way, because their connection has ended. From now on
// the pipeline sends on a new connection.
func (l *pipeline) lost(now int64) (requests int) {
	requests = l.count
	l.first, l.count = 0, 0
	clear(l.free)
	l.again(now)
	return requests
}

// again sends all requests under way once more, on a new connection. They stay due
// when they were.
func (l *pipeline) again(now int64) {
	l.protocol = l.speak()
	l.unsent, l.off, l.got, l.served = l.count, 0, 0, 0
	l.ready = now
}

func (l *pipeline) missed(end int64, p *Plan) float64 {
	if l.schedule == nil || l.due >= end {
		return 0
	}
	return math.Ceil(float64(end-l.due)/1e9*p.Rate/float64(p.Conns) - 1e-6)
}

// A schedule says when the requests of one connection are due, in nanoseconds since
// the run began. It does not depend on earlier requests being answered. The rate is
// spread evenly over the connections, and their first requests over one interval.
type schedule struct {
	first, every float64
	count        float64 // requests so far
}

func (s *schedule) next() int64 {
	due := s.first + s.every*s.count
	s.count++
	if due >= math.MaxInt64 {
		return never
	}
	return int64(due)
}
