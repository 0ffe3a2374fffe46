package scenarios

const (
	// batchFrames is how many frames are handed over at once, so that it is
	// not the channel that is measured.
	batchFrames = 32
	// batchCount is how many batches are on the way at most.
	batchCount = 4
)

// sharedOut hands frames to keepers that are shared out over goroutines.
type sharedOut[T any] struct {
	f       fanOf[T]
	batches [batchCount][]T // references by frame, and by keeper
	next    int             // the batch that is filled next
	parts   []*part[T]
	crew    *crew
	ended   bool
}

// A part is the keepers of one goroutine.
type part[T any] struct {
	round[T]
	from, of int // the first of its keepers, and how many there are in all parts
	full     chan []T
	done     chan struct{} // has room for batchCount: one for each batch that may be filled
	sum      uint64
	_        [aLine]byte
}

func newSharedOut[T any](f fanOf[T], c crowd, goroutines int) *sharedOut[T] {
	x := &sharedOut[T]{f: f}
	for i := range x.batches {
		x.batches[i] = make([]T, batchFrames*c.keepers)
	}
	for i := range goroutines {
		from, to := i*c.keepers/goroutines, (i+1)*c.keepers/goroutines
		p := &part[T]{
			round: newRound[T](crowd{to - from, c.depth}), from: from, of: c.keepers,
			full: make(chan []T, batchCount), done: make(chan struct{}, batchCount),
		}
		for range batchCount {
			p.done <- struct{}{}
		}
		x.parts = append(x.parts, p)
	}
	x.crew = newCrew(goroutines, func(i, n int) error {
		x.parts[i].take(n, f)
		return nil
	})
	return x
}

// take keeps n frames, fewer only when the channel is closed.
func (p *part[T]) take(n int, f fanOf[T]) {
	for n > 0 {
		batch, ok := <-p.full
		if !ok {
			return
		}
		for ; len(batch) > 0; batch = batch[p.of:] {
			refs := batch[p.from : p.from+len(p.keep)]
			if p.filling() {
				copy(p.refs, refs)
				p.fill()
			} else {
				p.sum += f.pass(p.keep, refs)
			}
			n--
		}
		p.done <- struct{}{}
	}
}

// send reads n frames and hands them over, those too that came before an error.
func (x *sharedOut[T]) send(n int) (err error) {
	of := x.parts[0].of
	for n > 0 && err == nil {
		for _, p := range x.parts {
			<-p.done
		}
		batch := x.batches[x.next%batchCount]
		x.next++
		frames := 0
		for frames < min(n, batchFrames) {
			if err = x.f.next(batch[frames*of : (frames+1)*of]); err != nil {
				break
			}
			frames++
		}
		for _, p := range x.parts {
			p.full <- batch[:frames*of]
		}
		n -= frames
	}
	return err
}

func (x *sharedOut[T]) walk(n int) (sum uint64, err error) {
	x.crew.begin(n)
	if err = x.send(n); err != nil {
		x.close()
	}
	x.crew.wait()
	for _, p := range x.parts {
		sum += p.sum
		p.sum = 0
	}
	return sum, err
}

func (x *sharedOut[T]) close() {
	if x.ended {
		return
	}
	x.ended = true
	for _, p := range x.parts {
		close(p.full)
	}
}

func (x *sharedOut[T]) end() {
	x.close()
	x.crew.stop()
	for _, p := range x.parts {
		p.empty(x.f.letGo)
	}
	x.f.end()
}
