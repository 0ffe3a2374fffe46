package scenarios

import "sync/atomic"

// chanDepth is how many frames wait for a keeper at most.
const chanDepth = 64

// progressEvery is how often a keeper says how far it came: seldom enough not
// to be part of what is measured.
const progressEvery = 16

// chanFan hands frames to keepers that have goroutines of their own.
type chanFan[T any] struct {
	f     fanOf[T]
	refs  [keepers]T
	lanes [keepers]*lane[T]
	crew  *crew
	sent  int // frames sent to each keeper
	ended bool
}

// A lane is the channel to one keeper, and the frames that it keeps.
type lane[T any] struct {
	c    chan T
	keep keeper[T]
	got  int // frames taken
	sum  uint64
	_    [aLine]byte
	gone atomic.Int64 // frames let go, to the last progressEvery
	_    [aLine]byte
}

func newChanFan[T any](f fanOf[T]) *chanFan[T] {
	x := &chanFan[T]{f: f}
	for i := range x.lanes {
		x.lanes[i] = &lane[T]{c: make(chan T, chanDepth), keep: newKeeper[T](keepDepth)}
	}
	x.crew = newCrew(keepers, func(i, n int) error {
		x.lanes[i].take(n, f)
		return nil
	})
	return x
}

// take receives n frames, fewer only when the channel is closed.
func (l *lane[T]) take(n int, f fanOf[T]) {
	for range n {
		v, ok := <-l.c
		if !ok {
			return
		}
		l.got++
		old := l.keep.swap(v)
		if l.got <= keepDepth {
			continue
		}
		l.sum += f.letGo(old)
		if l.got%progressEvery == 0 {
			l.gone.Store(int64(l.got - keepDepth))
		}
	}
}

// send reads n frames and sends them on.
func (x *chanFan[T]) send(n int) error {
	for range n {
		if err := x.f.next(x.refs[:]); err != nil {
			x.close()
			return err
		}
		for i, l := range x.lanes {
			l.c <- x.refs[i]
		}
		x.sent++
	}
	return nil
}

func (x *chanFan[T]) walk(n int) (uint64, error) {
	x.crew.begin(n)
	return x.finish(x.send(n))
}

// finish waits for the keepers and adds up their results.
func (x *chanFan[T]) finish(err error) (sum uint64, _ error) {
	x.crew.wait()
	for _, l := range x.lanes {
		sum += l.sum
		l.sum = 0
	}
	return sum, err
}

// probe looks at the pinned bytes between frames. The keepers go on meanwhile,
// so that what is alive is looked at before and after: where the two are far
// apart, it cannot be said what was alive at the moment between them.
func (x *chanFan[T]) probe(n int) (ratio float64, sum uint64, err error) {
	x.crew.begin(n)
	for range n {
		if err = x.send(1); err != nil {
			break
		}
		held, before := x.alive()
		pinned := x.f.pinned(held, before)
		_, after := x.alive()
		if before-after <= progressEvery {
			ratio = max(ratio, float64(pinned)/float64(after*fanFrame))
		}
	}
	sum, err = x.finish(err)
	return ratio, sum, err
}

// alive returns how many frames the keepers and their channels hold at least,
// together and different ones: each keeper may be further than it says.
func (x *chanFan[T]) alive() (held, different int) {
	for _, l := range x.lanes {
		n := x.sent - int(l.gone.Load()) - progressEvery
		held += n
		different = max(different, n)
	}
	// A keeper keeps its last frames whatever it says.
	return max(held, keepers*keepDepth), max(different, keepDepth)
}

func (x *chanFan[T]) close() {
	if x.ended {
		return
	}
	x.ended = true
	for _, l := range x.lanes {
		close(l.c)
	}
}

func (x *chanFan[T]) end() {
	x.close()
	x.crew.stop()
	for _, l := range x.lanes {
		for v := range l.c {
			if old := l.keep.swap(v); l.got >= keepDepth {
				x.f.letGo(old)
			}
			l.got++
		}
		l.keep.last(min(l.got, keepDepth), x.f.letGo)
	}
	x.f.end()
}
