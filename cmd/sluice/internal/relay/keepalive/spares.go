package keepalive

// mostSpare is how many spare buffers of a kind are kept: requests that come together are
// read one after the other, on as many processors as there are.
const mostSpare = 32

// spares are buffers for use again. A sync.Pool would lose them at each garbage collection,
// after which every request that comes takes a new one.
type spares[T any] struct {
	free  chan T
	fresh func() T
}

func newSpares[T any](fresh func() T) spares[T] { return spares[T]{make(chan T, mostSpare), fresh} }

func (s *spares[T]) get() T {
	select {
	case x := <-s.free:
		return x
	default:
		return s.fresh()
	}
}

func (s *spares[T]) put(x T) {
	select {
	case s.free <- x:
	default:
	}
}
