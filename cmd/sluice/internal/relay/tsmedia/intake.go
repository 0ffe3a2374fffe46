package tsmedia

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// Options of an Intake.
type Options struct {
	Alloc    *mem.Allocator
	MaxFrame int                        // bytes of a unit
	Publish  func(live.Frame) error     // takes frames, whose payloads are transferred
	LeftOut  func(codec string)         // is called for each track that is not taken, with what it is
	Exclude  func(f func() error) error // runs what may block for the stream; nil calls it
	// Hold, unless it is nil, is called with how many bytes of units are collected that have
	// no end yet, in steps of 64 KiB, and with 0 when they are fewer. Its error is Read's.
	Hold func(bytes int) error
	// Media, unless it is nil, is called with how many bytes of tracks came: packets without a
	// payload, and those of tables, are none.
	Media func(bytes int)
}

// intake converts the units of a transport stream.
type intake struct {
	Options
	joiner     au.Joiner
	clock      clock
	info       metadata
	begun      bool     // metadata was published
	changed    bool     // it says something else since
	publishing bool     // our own code runs
	onward     struct { // when sound goes on, ticks of the sender
		at    int64
		known bool
	}
}

// sound takes frames, borrowed until it returns, that follow one another.
func (x *intake) sound(config *au.Config, pts int64, units [][]byte) error {
	at := x.clock.at(1, pts)
	samples := 0
	for _, p := range units {
		if len(p) == 0 {
			continue
		}
		u := au.Unit{Codec: config.Codec, Key: true, Config: config, Parts: [][]byte{p}}
		u.Time = ms(at + int64(samples)*90_000/int64(max(config.Rate, 1)))
		samples += config.Samples(p)
		if err := x.publish(&u, len(p), func(dst []byte) { _ = append(dst, p...) }); err != nil {
			return err
		}
	}
	x.onward.at, x.onward.known = pts+int64(samples)*90_000/int64(max(config.Rate, 1)), true
	return nil
}

// publish packs a unit of n bytes and publishes it, with what has to come before it.
func (x *intake) publish(u *au.Unit, n int, pack func(dst []byte)) error {
	x.publishing = true
	defer func() { x.publishing = false }()
	if n > x.MaxFrame {
		return fmt.Errorf("%w: %d bytes", ErrTooLong, n)
	}
	if !x.begun || x.changed {
		at := u.Time
		if !x.begun {
			at = 0 // or ffmpeg takes it for subtitles
		}
		x.begun, x.changed = true, false
		if err := x.frame(x.info.frame(at)); err != nil {
			return err
		}
	}
	if h, ok := x.joiner.Header(u.Config, u.Time); ok {
		if err := x.frame(h); err != nil {
			return err
		}
	}
	b, err := x.Alloc.TryGet(au.Room + n)
	if err != nil {
		return err
	}
	pack(b.Bytes()[au.Room:au.Room])
	f, err := x.joiner.Frame(u, b)
	if err != nil {
		return nil // an offset that FLV cannot carry: the picture is left out
	}
	return x.frame(f)
}

func (x *intake) frame(f live.Frame) error {
	if x.Exclude != nil {
		return x.Exclude(func() error { return x.Publish(f) })
	}
	return x.Publish(f)
}

// Tick is the time of one tick of a transport stream's clock.
const Tick = time.Second / 90_000
