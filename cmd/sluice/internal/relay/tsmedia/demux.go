package tsmedia

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/asticode/go-astits"
	"github.com/sluice-go/sluice/flv"
)

// Read reads a transport stream from r and publishes the first track of pictures and the
// first of sound that are carried, as the tables say at that time: they may change. It returns
// when r or Publish fails, with that error, or with one that matches one of this package.
// Input that the library behind it cannot bear is ErrSyntax.
func Read(r io.Reader, o Options) (err error) {
	x := &intake{Options: o}
	defer func() {
		if fault := recover(); fault != nil {
			if x.publishing {
				panic(fault)
			}
			err = fmt.Errorf("%w: %v", ErrSyntax, fault)
		}
	}()
	g := newGuard(r, o.MaxFrame, o.Hold)
	g.media = o.Media
	d := &demuxer{intake: x, guard: g, ending: map[uint16]ending{}, refused: map[entry]bool{}, named: map[entry]bool{}, others: map[uint16]bool{}, unread: map[uint16]int{}}
	g.scrambled = d.scrambled
	d.library = astits.NewDemuxer(context.Background(), d, astits.DemuxerOptPacketSize(packetLen), astits.DemuxerOptPacketsParser(later))
	for {
		data, err := d.library.NextData()
		switch {
		case d.failed != nil && errors.Is(err, astits.ErrNoMorePackets):
			return io.EOF
		case d.failed != nil && err != nil:
			return d.failed
		case err != nil:
			continue // a unit or a table is broken
		case data.PAT != nil:
			d.programs(data.PAT)
		case data.PMT != nil:
			err = d.table(data.PMT)
		case data.PES != nil:
			err = d.packet(data)
		}
		if err != nil {
			return err
		}
	}
}

// A demuxer gives packets to the tracks that are taken.
type demuxer struct {
	*intake
	guard   *guard
	library *astits.Demuxer
	failed  error // of guard

	known   bool                          // there was a table
	program uint16                        // that the table was of
	others  map[uint16]bool               // programs that there are; true: nothing of it is carried
	streams []*astits.PMTElementaryStream // of the latest table
	video   *track                        // nil: none
	audio   *track
	ending  map[uint16]ending
	refused map[entry]bool // that were left out for what is in them
	named   map[entry]bool // that LeftOut was called for
	unread  map[uint16]int // packets that are scrambled, by PID
}

// entry is what a table says of a track.
type entry struct {
	pid  uint16
	kind kind
}

// ending is a track whose kind has changed while a unit of the kind before had not ended.
type ending struct {
	track   *track
	counter byte // of that unit's first packet
}

// Read implements io.Reader for the library.
func (d *demuxer) Read(p []byte) (int, error) {
	n, err := d.guard.Read(p)
	if err != nil {
		d.failed = err
	}
	return n, err
}

// choose takes the first track of each kind that is carried. why says what has changed, if it
// was not the table.
func (d *demuxer) choose(why string) error {
	var video, audio *track
	for _, es := range d.streams {
		k := kindOf(es)
		one := entry{es.ElementaryPID, k}
		slot, now := &audio, d.audio
		if k.video() {
			slot, now = &video, d.video
		}
		switch {
		case k.codec == 0 || *slot != nil:
			d.name(one)
		case d.refused[one]:
		case now != nil && now.pid == one.pid && now.kind == one.kind:
			*slot = now
		default:
			*slot = d.newTrack(one.pid, one.kind)
			d.begin(*slot)
		}
	}
	if video == nil && audio == nil {
		if why == "" {
			return ErrCodec
		}
		return fmt.Errorf("%w: %s", ErrCodec, why)
	}
	d.video, d.audio = video, audio
	codecOf := func(t *track) flv.FourCC {
		if t == nil {
			return 0
		}
		return t.kind.codec
	}
	if v, a := codecOf(video), codecOf(audio); v != d.info.video || a != d.info.audio {
		if v != d.info.video {
			d.info.config = nil
		}
		d.info.video, d.info.audio, d.changed = v, a, true
	}
	return nil
}

// begin keeps the track that t takes the place of until its last unit has come.
func (d *demuxer) begin(t *track) {
	for _, before := range []*track{d.video, d.audio} {
		if before != nil && before.pid == t.pid {
			d.ending[t.pid] = ending{before, d.guard.units[t.pid].counter}
		}
	}
}

// maxNamed bounds how many tracks LeftOut is called for.
const maxNamed = 64

// name calls LeftOut for a track, once.
func (d *demuxer) name(one entry) {
	if d.named[one] || len(d.named) == maxNamed {
		return
	}
	d.named[one] = true
	what := one.kind.name
	if what == "" {
		what = "another track of " + one.kind.codec.String()
	}
	if d.LeftOut != nil {
		d.LeftOut(what)
	}
}

// packet gives a packet to its track.
func (d *demuxer) packet(data *astits.DemuxerData) error {
	var t *track
	for _, one := range []*track{d.video, d.audio} {
		if one != nil && one.pid == data.PID {
			t = one
		}
	}
	h := data.PES.Header.OptionalHeader
	if t == nil || len(data.PES.Data) == 0 || h == nil {
		return nil
	}
	if e, ok := d.ending[t.pid]; ok {
		delete(d.ending, t.pid)
		if data.FirstPacket != nil && data.FirstPacket.Header.ContinuityCounter == e.counter {
			t = e.track
		}
	}
	pts, dts, ok := timesOf(h, t, data.PES.Data)
	if !ok {
		return nil
	}
	err := t.take(pts, dts, data.PES.Data)
	if why := leftOut(""); errors.As(err, &why) {
		one := entry{t.pid, t.kind}
		if t != d.video && t != d.audio || len(d.refused) == maxNamed {
			return nil
		}
		d.refused[one] = true
		if d.LeftOut != nil {
			d.LeftOut(string(why))
		}
		return d.choose(string(why))
	}
	return err
}

// timesOf returns when a packet of a track is.
func timesOf(h *astits.PESOptionalHeader, t *track, p []byte) (pts, dts int64, ok bool) {
	if h.PTS == nil {
		return t.next(p)
	}
	pts = h.PTS.Base
	dts = pts
	if h.DTS != nil {
		dts = h.DTS.Base
	}
	return pts, dts, true
}
