package scenarios

// A crowd is how many keepers there are, and how many frames each of them keeps.
type crowd struct{ keepers, depth int }

// A keeper holds the last frames that it was given.
type keeper[T any] struct {
	ring []T
	at   int
}

func newKeeper[T any](depth int) keeper[T] { return keeper[T]{ring: make([]T, depth)} }

// swap keeps v and returns the value that it replaces, which the caller must let go.
func (k *keeper[T]) swap(v T) T {
	old := k.ring[k.at]
	k.ring[k.at] = v
	if k.at++; k.at == len(k.ring) {
		k.at = 0
	}
	return old
}

// last calls letGo for the frames that were kept last, n of them, from the
// oldest on.
func (k *keeper[T]) last(n int, letGo func(T) uint64) {
	depth := len(k.ring)
	for i := range n {
		letGo(k.ring[(k.at+depth-n+i)%depth])
	}
}

// A round of keepers is what a fan of one goroutine keeps.
type round[T any] struct {
	keep []keeper[T]
	refs []T
	held int // frames that each keeper has, until all are full
}

func newRound[T any](c crowd) round[T] {
	r := round[T]{keep: make([]keeper[T], c.keepers), refs: make([]T, c.keepers)}
	for i := range r.keep {
		r.keep[i] = newKeeper[T](c.depth)
	}
	return r
}

// filling reports whether the keepers still have room.
func (r *round[T]) filling() bool { return r.held < len(r.keep[0].ring) }

// fill takes the latest frame without letting one go.
func (r *round[T]) fill() {
	for i := range r.keep {
		r.keep[i].swap(r.refs[i])
	}
	r.held++
}

// empty calls letGo for all that is kept.
func (r *round[T]) empty(letGo func(T) uint64) {
	for i := range r.keep {
		r.keep[i].last(r.held, letGo)
	}
	r.held = 0
}
