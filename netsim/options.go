package netsim

import (
	"errors"
	"fmt"
	"time"
)

// ErrReset is matched by the errors of a Conn that was reset, which match
// syscall.ECONNRESET too, like those of a real one.
var ErrReset = errors.New("netsim: connection reset")

// Options say what a Conn does to the connection under it. The zero value
// does nothing.
type Options struct {
	// Seed decides all that is random: sizes, jitter, resets. Each has a
	// sequence of its own in each direction, so that what happens depends on
	// the number of calls there and not on how goroutines interleave.
	Seed uint64

	// In is what happens to bytes that are read, Out to bytes that are written.
	In, Out Direction

	// Latency is how long after its arrival a byte, or the end of the stream,
	// can be read. It delays the one direction: give both ends half of a round
	// trip. Bytes overlap in flight, as on a wire, up to Window.
	Latency time.Duration

	// Jitter is added to Latency: between nothing and Jitter, drawn for each
	// arrival. Order is kept, so that one late arrival delays those after it.
	Jitter time.Duration

	// Window is how many bytes can have arrived and not been read, when In has
	// a Bandwidth or there is Latency or Jitter; 0 means 64 KiB. As with TCP's
	// window, no more than Window bytes per Latency get through. A Conn that
	// needs it allocates it at once.
	Window int
}

// A Direction is what happens to the bytes that go one way through a Conn.
type Direction struct {
	// Sizes bounds each Read to the next drawn size, and cuts each Write into
	// pieces of the drawn sizes, passed on one by one. The zero Condition
	// bounds nothing.
	Sizes Condition

	// Bandwidth is a limit in bytes per second, 0 for none. Bytes go through in
	// portions of 10 ms at most, and idle time is not made up for later.
	Bandwidth int64

	// ResetAfter resets the connection as soon as so many bytes have gone
	// through, 0 for never.
	ResetAfter int64

	// ResetChance is the probability, 0 to 1, that the connection is reset
	// before a Read, or before a piece of a Write.
	ResetChance float64
}

const defaultWindow = 64 << 10

func (o *Options) check() {
	if o.Latency < 0 || o.Jitter < 0 || o.Window < 0 {
		panic(fmt.Sprintf("netsim: latency %v, jitter %v, window of %d bytes", o.Latency, o.Jitter, o.Window))
	}
	o.In.check("in")
	o.Out.check("out")
}

func (d *Direction) check(name string) {
	if d.Sizes != (Condition{}) {
		d.Sizes.check()
	}
	if d.Bandwidth < 0 || d.ResetAfter < 0 {
		panic(fmt.Sprintf("netsim: direction %s: bandwidth of %d bytes/s, reset after %d bytes", name, d.Bandwidth, d.ResetAfter))
	}
	if !(d.ResetChance >= 0 && d.ResetChance <= 1) { // NaN too
		panic(fmt.Sprintf("netsim: direction %s: reset chance of %v", name, d.ResetChance))
	}
}
