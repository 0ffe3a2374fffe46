package edge

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

const (
	// maxPlayed bounds the frames that are remembered: an origin keeps no more of a stream, by default.
	maxPlayed = 4096
	// maxHeld bounds the headers that wait for the first frame behind them.
	maxHeld = 32
)

// A repeats leaves out what a new connection to an origin repeats: that begins with the newest group of pictures,
// of which some or all has been published. Frames are the same by type, time and bytes, so an origin that has
// begun again, or that counts each viewer's time from 0, repeats nothing.
type repeats struct {
	played []uint64 // sums of the frames since the newest key frame

	looking bool         // what has come over this connection may be a repetition
	next    int          // of played, behind what was repeated; 0: nothing was
	held    []live.Frame // headers and metadata that came meanwhile, which are of no use without frames
}

// sums is what frames are hashed with.
var sums = maphash.MakeSeed()

// begin begins a connection. In the first one nothing is a repetition.
func (r *repeats) begin(again bool) { r.looking, r.next = again, 0 }

// end releases what is held.
func (r *repeats) end() {
	for i := range r.held {
		r.held[i].Payload.Release()
	}
	r.held = r.held[:0]
}

// goesOn reports whether the connection has repeated frames: its times are those of the one before.
func (r *repeats) goesOn() bool { return r.next > 0 }

// pass gives f, transferred, to publish, behind what is held, unless it is a repetition or is held itself.
func (r *repeats) pass(f live.Frame, publish func(live.Frame) error) error {
	head, key := kindOf(f)
	if r.looking && head && len(r.held) < maxHeld {
		r.held = append(r.held, f)
		return nil
	}
	sum := uint64(0)
	if !head {
		sum = sumOf(f)
	}
	if r.looking && !head && r.repeated(sum) {
		r.end() // those headers have been in force
		f.Payload.Release()
		return nil
	}
	r.looking = false
	for len(r.held) > 0 {
		h := r.held[0]
		r.held = slices.Delete(r.held, 0, 1)
		if err := publish(h); err != nil {
			f.Payload.Release()
			return err
		}
	}
	if !head {
		r.note(sum, key)
	}
	return publish(f)
}

// repeated reports whether a frame follows those that were repeated, or is the first of them.
func (r *repeats) repeated(sum uint64) bool {
	if r.next > 0 {
		if r.next == len(r.played) || r.played[r.next] != sum {
			return false
		}
		r.next++
		return true
	}
	r.next = slices.Index(r.played, sum) + 1
	return r.next > 0
}

// note remembers a frame that is published.
func (r *repeats) note(sum uint64, key bool) {
	switch {
	case key:
		r.played = r.played[:0]
	case len(r.played) == maxPlayed:
		r.played = append(r.played[:0], r.played[maxPlayed/2:]...)
	}
	r.played = append(r.played, sum)
}

// kindOf reports whether f is a header or metadata, which come before the frames of each connection, or a key frame.
func kindOf(f live.Frame) (head, key bool) {
	p := f.Payload.Bytes()
	switch f.Type {
	case flv.TagVideo:
		v, err := flv.ParseVideo(p)
		return err == nil && v.Config(), err == nil && v.Key()
	case flv.TagAudio:
		a, err := flv.ParseAudio(p)
		return err == nil && a.Config(), false
	}
	return bytes.HasPrefix(p, onMetaData), false
}

// onMetaData is how script data begins that describes the stream: a marker, the length and the name (AMF0, section 2.4).
var onMetaData = []byte("\x02\x00\x0aonMetaData")

func sumOf(f live.Frame) uint64 {
	return maphash.Bytes(sums, f.Payload.Bytes()) + uint64(f.Time)*0x9e3779b97f4a7c15 + uint64(f.Type)
}
