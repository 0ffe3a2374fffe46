package netsim

import (
	"io"
	"sync"
	"time"
)

// A flight holds bytes that have arrived but cannot be read before their
// time. One goroutine puts in, one at a time takes out.
type flight struct {
	mu    sync.Mutex
	ring  []byte
	in    int64  // bytes put in since the beginning
	due   int64  // of those, the ones whose time has come
	out   int64  // of those, the ones taken out
	marks []mark // in the order of the bytes; each waits for those before it
	err   error  // what ended the stream, to be reported after the last mark

	// Tokens: something was put in, something was taken out.
	arrived, room chan struct{}
}

// A mark says when the bytes before end, back to the mark before, can be read.
type mark struct {
	end int64
	at  time.Time
}

func newFlight(window int) *flight {
	return &flight{
		ring:    make([]byte, window),
		arrived: make(chan struct{}, 1),
		room:    make(chan struct{}, 1),
	}
}

// space returns where the next bytes that arrive go, empty when the window is
// full. It is borrowed until put, and no other code touches it.
func (f *flight) space() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	window := int64(len(f.ring))
	from := f.in % window
	return f.ring[from:min(window, from+window-(f.in-f.out))]
}

// put enters the first n bytes of space, and then the end of the stream if
// err is not nil, to be read from at on, but not before what was put earlier.
func (f *flight) put(n int, err error, at time.Time) {
	f.mu.Lock()
	f.in += int64(n)
	f.err = err
	f.marks = append(f.marks, mark{f.in, at})
	f.mu.Unlock()
	signal(f.arrived)
}

// take copies into p what may be read now. If that is nothing, it returns
// when there will be something, or zero when nothing has arrived.
func (f *flight) take(p []byte, now time.Time) (n int, next time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.marks) > 0 && !now.Before(f.marks[0].at) {
		f.due = f.marks[0].end
		f.marks = f.marks[1:]
	}
	p = p[:min(int64(len(p)), f.due-f.out)]
	if len(p) == 0 {
		if len(f.marks) > 0 {
			return 0, f.marks[0].at, nil
		}
		return 0, time.Time{}, f.err
	}
	from := f.out % int64(len(f.ring))
	n = copy(p, f.ring[from:])
	n += copy(p[n:], f.ring)
	f.out += int64(n)
	signal(f.room)
	return n, time.Time{}, nil
}

func signal(token chan struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}

// pump brings what arrives from the inner connection into the flight.
func (c *Conn) pump(o Options) {
	defer close(c.pumped)
	line := newPacer(o.In.Bandwidth)
	jitter := newRand(o.Seed, purposeJitter)
	empty := 0
	for {
		space := c.flight.space()
		if len(space) == 0 {
			select {
			case <-c.flight.room:
				continue
			case <-c.ended:
				return
			}
		}
		n, err := c.readInner(space[:min(len(space), line.most())])
		if empty++; n > 0 {
			empty = 0
		} else if err == nil && empty < 100 {
			continue
		} else if err == nil {
			err = io.ErrNoProgress
		}
		at := line.send(line.start(time.Now()), n).Add(o.Latency)
		if o.Jitter > 0 {
			at = at.Add(time.Duration(jitter.Int64N(int64(o.Jitter))))
		}
		c.flight.put(n, err, at)
		if err != nil {
			return
		}
	}
}
