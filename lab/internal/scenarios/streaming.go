package scenarios

import (
	"fmt"
	"io"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/netsim"
)

const (
	// streamCount is how many streams the server has, each with a goroutine.
	streamCount = 100
	// delivery is how many frames a stream hands to a subscriber at once.
	delivery = 16
	// backlog is how many deliveries a subscriber has before it consumes the
	// oldest.
	backlog = 64
)

var _ = register(60, streamingGroup)

// streamingGroup is a server of many streams, each frame of which is retained
// for subscribers that consume it later, in goroutines of their own.
func streamingGroup() []lab.Scenario {
	sc := lab.Scenario{
		Name:     "streaming-server",
		Title:    fmt.Sprintf("%d streams of frames, each frame kept for %d subscribers that consume it later", streamCount, keepers),
		Op:       "frame",
		Metric:   lab.NsPerOp,
		Baseline: "pool-refcount",
		Ops:      50_000,
	}
	for _, f := range fanWays {
		sc.Variants = append(sc.Variants, lab.Variant{Name: f.name, About: f.about, Open: f.server})
	}
	return []lab.Scenario{sc}
}

// A server is the streams and the subscribers, of references that are T.
type server[T any] struct {
	streams     []*served[T]
	subscribers [keepers]*subscriber[T]
	publishers  *crew
}

// served is one stream with what it has not delivered yet.
type served[T any] struct {
	place
	f    *fan[T]
	refs [keepers]T
	open [keepers][]T
}

// A subscriber consumes what all streams deliver to it.
type subscriber[T any] struct {
	in   chan []T
	free chan []T // empty deliveries
	sums chan uint64
}

func newServer[T any](env lab.Env, open func(io.Reader, *stream) *fan[T]) *server[T] {
	s := shortFrames(env)
	sizes := netsim.Draw(netsim.Normal, env.Seed)
	x := &server[T]{}
	for i := range streamCount {
		// Each stream is at another place of the same bytes.
		at := i * s.units() / streamCount
		src := sizes.Reader(s.source(at), uint(i*netsim.TableLen/streamCount))
		x.streams = append(x.streams, &served[T]{place: place{s: s, at: at}, f: open(src, s)})
	}
	for i := range x.subscribers {
		u := &subscriber[T]{
			in: make(chan []T, backlog),
			// Enough that a stream never waits for an empty one.
			free: make(chan []T, streamCount+2*backlog+1),
			sums: make(chan uint64),
		}
		for range cap(u.free) {
			u.free <- make([]T, 0, delivery)
		}
		x.subscribers[i] = u
		go u.consume(x.streams[0].f.letGo)
	}
	x.publishers = newCrew(streamCount, func(i, n int) error { return x.streams[i].publish(n, x) })
	return x
}

// publish reads n frames and delivers them, the last ones too.
func (v *served[T]) publish(n int, x *server[T]) error {
	for range n {
		if err := v.f.next(v.refs[:]); err != nil {
			return err
		}
		for i, u := range x.subscribers {
			if v.open[i] == nil {
				v.open[i] = <-u.free
			}
			v.open[i] = append(v.open[i], v.refs[i])
			if len(v.open[i]) == delivery {
				u.in <- v.open[i]
				v.open[i] = nil
			}
		}
	}
	for i, u := range x.subscribers {
		if v.open[i] != nil {
			u.in <- v.open[i]
			v.open[i] = nil
		}
	}
	return nil
}

// consume looks at deliveries in their order, backlog behind. An empty
// delivery is the end of a round: what is still there is consumed then.
func (u *subscriber[T]) consume(letGo func(T) uint64) {
	defer close(u.sums)
	var ring [backlog][]T
	at, sum := 0, uint64(0)
	look := func(d []T) {
		for _, v := range d {
			sum += letGo(v)
		}
		if d != nil {
			clear(d)
			u.free <- d[:0]
		}
	}
	for d := range u.in {
		if d != nil {
			old := ring[at%backlog]
			ring[at%backlog] = d
			at++
			look(old)
			continue
		}
		for i := range backlog {
			look(ring[(at+i)%backlog])
			ring[(at+i)%backlog] = nil
		}
		u.sums <- sum
		sum = 0
	}
}

func (x *server[T]) Run(ops int) (lab.Sample, error) {
	err := x.publishers.run(ops)
	var sum uint64
	for _, u := range x.subscribers {
		u.in <- nil
		sum += <-u.sums
	}
	if err != nil {
		return lab.Sample{}, err
	}
	return x.account(ops, sum)
}

// account compares the sum of all streams with what they sent.
func (x *server[T]) account(ops int, sum uint64) (lab.Sample, error) {
	var want lab.Sample
	var marks uint64
	for i, v := range x.streams {
		n := ops / streamCount
		if i == 0 {
			n = ops - n*(streamCount-1)
		}
		m := over(v.s.marks, v.at, n)
		out, err := v.place.account(n, m)
		if err != nil {
			return lab.Sample{}, err
		}
		marks += m
		want.Bytes += out.Bytes
		want.Check += out.Check
	}
	if sum != marks*keepers {
		return lab.Sample{}, fmt.Errorf("%w: %d frames come to %#x, want %#x", errDiffers, ops, sum, marks*keepers)
	}
	return want, nil
}

func (x *server[T]) Close() error {
	x.publishers.stop()
	for _, u := range x.subscribers {
		close(u.in)
		<-u.sums
	}
	for _, v := range x.streams {
		v.f.end()
	}
	return nil
}
