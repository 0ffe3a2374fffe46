package live

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
)

// ErrState: the state of a stream or viewer that came from elsewhere cannot be right.
var ErrState = errors.New("live: bad state")

// A StreamState is what another process needs to go on with a stream, beside the frames
// themselves, which are the tags of an FLV file.
type StreamState struct {
	Name    string        `json:"name"`
	Age     time.Duration `json:"age"`   // of the stream
	At      time.Time     `json:"at"`    // when it was that old
	First   uint64        `json:"first"` // number of the first frame
	Kinds   []byte        `json:"kinds"` // of the frames, in bits that are this package's own
	Came    []int64       `json:"came"`  // when they came, ns since the stream began
	Marks   []Mark        `json:"marks,omitempty"`
	Headers []HeaderState `json:"headers"` // in force before the first frame
	Times   TimeState     `json:"times"`

	HasVideo bool   `json:"has_video"` // there was video, at any time
	HasMedia bool   `json:"has_media"` // there was a frame of video or sound, at any time
	Track    uint16 `json:"track"`     // the main one of video

	Frames int64           `json:"frames"`       // that have come in all
	Bytes  int64           `json:"bytes"`        // of their payloads
	By     *PublisherState `json:"by,omitempty"` // nil: it waits for one to come back
}

// HasKey reports whether there is a key frame among the frames, with the newest of which a
// reader begins.
func (st *StreamState) HasKey() bool {
	return slices.ContainsFunc(st.Kinds, func(k byte) bool { return kind(k)&isKey != 0 })
}

// A HeaderState is one sequence header, or metadata.
type HeaderState struct {
	Kind  uint8  `json:"kind"`  // bits as those of StreamState.Kinds, which are this package's own
	Track uint16 `json:"track"` // of enhanced RTMP; 0 without tracks
	Body  []byte `json:"body"`  // of the FLV tag
}

// A TimeState is how a stream's times go on. Times are in milliseconds.
type TimeState struct {
	Shift uint32 `json:"shift"` // what is added to the publisher's times, modulo 2^32
	Last  uint32 `json:"last"`  // the latest that was given to a frame of media
	Step  uint32 `json:"step"`  // the last that it went on by
	Begun bool   `json:"begun"` // Last is of use
	Ahead bool   `json:"ahead"` // the next frame of media goes on where Last was
	// The latest of each kind; nil: none, or a version that did not say.
	Pictures *uint32 `json:"pictures,omitempty"`
	Sound    *uint32 `json:"sound,omitempty"`
	// What is added to the times of each kind besides.
	OwnPictures uint32 `json:"own_pictures,omitempty"`
	OwnSound    uint32 `json:"own_sound,omitempty"`
}

// state returns what another process needs to go on.
func (t *timeline) state() TimeState {
	of := func(l latest) *uint32 {
		if !l.known {
			return nil
		}
		return &l.at
	}
	return TimeState{t.shift, t.last, t.step, t.begun, t.ahead, of(t.pictures), of(t.sound), t.pictures.own, t.sound.own}
}

// timeline returns what goes on from a state.
func (s TimeState) timeline() timeline {
	of := func(at *uint32, own uint32) latest {
		if at == nil {
			return latest{}
		}
		return latest{*at, true, own}
	}
	return timeline{s.Shift, s.Last, s.Step, s.Begun, s.Ahead, of(s.Pictures, s.OwnPictures), of(s.Sound, s.OwnSound)}
}

// A PublisherState says who publishes a stream.
type PublisherState struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"`
}

// State returns the state of s and a copy of its frames, as the tags of an FLV file. It
// reports false for a stream that is over, one without FLV, and one with standbys.
func (s *Stream) State() (st StreamState, tags []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.ring
	if s.end.over || r.bare || s.now != nil && s.now.standby || len(s.standbys.waiting) > 0 {
		return st, nil, false
	}
	st = StreamState{
		Name: s.name, Age: time.Duration(s.clock()), At: time.Now(), First: r.first,
		Times:    s.times.state(),
		HasVideo: r.hasVideo, HasMedia: r.hasMedia, Track: uint16(r.mainTrack),
		Frames: s.received.frames, Bytes: s.received.bytes,
	}
	set := r.set
	if r.first < r.next {
		set = r.at(r.first).set
	}
	for _, h := range set.list {
		st.Headers = append(st.Headers, HeaderState{uint8(h.kind), uint16(h.track), h.body})
	}
	n := int(r.next - r.first)
	st.Kinds, st.Came = make([]byte, 0, n), make([]int64, 0, n)
	for seq := r.first; seq < r.next; seq++ {
		st.Kinds = append(st.Kinds, byte(r.at(seq).kind))
		st.Came = append(st.Came, r.at(seq).came)
		if r.marked {
			st.Marks = append(st.Marks, r.mark(seq))
		}
	}
	if n > 0 {
		var b batch
		r.bodies.cut(&b, r.place(r.first), r.place(r.next))
		tags = b.bytes()
		b.reset()
	}
	if p := s.now; p != nil {
		st.By = &PublisherState{p.name, p.since}
	}
	return st, tags, true
}

// bytes returns a copy of what is in the batch.
func (t *batch) bytes() []byte {
	p := make([]byte, 0, t.size)
	for _, part := range t.parts {
		p = append(p, part...)
	}
	return p
}

// Adopt goes on with a stream of another process, as State has returned it there, and with
// its publisher, if it has one. tags is borrowed until Adopt returns. Frames are numbered as
// they were, so that the states of viewers count. An error matches ErrState or is ErrBusy or
// ErrClosed.
func (h *Hub) Adopt(st StreamState, tags []byte) (*Stream, *Publisher, error) {
	h.made()
	options := h.options
	if h.adjust != nil {
		h.adjust(st.Name, &options)
		options = options.withDefaults()
	}
	s := newStream(st.Name, options, &h.account, h.forget)
	age := st.Age + min(max(time.Since(st.At), 0), time.Minute)
	s.begun = time.Now().Add(-age)
	if err := s.restore(&st, tags); err != nil {
		s.finish()
		return nil, nil, fmt.Errorf("%w: stream %.200q: %w", ErrState, st.Name, err)
	}
	var p *Publisher
	if by := st.By; by != nil {
		p = &Publisher{s: s, name: by.Name, since: by.Since, done: make(chan struct{})}
		s.now = p
		s.standbys.fresh = s.clock()
	}
	h.mu.Lock()
	err := error(nil)
	switch {
	case h.closed:
		err = ErrClosed
	case h.streams[st.Name] != nil:
		err = ErrBusy
	default:
		h.streams[st.Name] = s
		if p == nil { // not before it is there: at its end it is taken out
			s.mu.Lock()
			s.linger()
			s.mu.Unlock()
		}
	}
	h.mu.Unlock()
	if err != nil {
		s.finish()
		return nil, nil, err
	}
	return s, p, nil
}

var (
	errTags  = errors.New("tags are cut short")
	errCount = errors.New("the numbers of frames, kinds and times differ")
)

// restore fills a new stream.
func (s *Stream) restore(st *StreamState, tags []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.ring
	if r.bare || len(st.Kinds) != len(st.Came) || st.Marks != nil && len(st.Marks) != len(st.Kinds) || len(st.Headers) > maxHeaders || st.First > math.MaxInt64 {
		return errCount
	}
	r.first, r.next = st.First, st.First
	set := new(headers)
	for _, h := range st.Headers {
		set = set.with(kind(h.Kind), track(h.Track), h.Body)
	}
	r.set = set
	keep := r.keepFrom
	r.keepFrom = math.MaxInt // copied: tags is one piece of memory, which no frame should keep
	defer func() { r.keepFrom = keep }()
	for i, k := range st.Kinds {
		if len(tags) < flv.TagHeaderLen {
			return errTags
		}
		h, err := flv.ParseTagHeader(tags)
		if err != nil {
			return err
		}
		end := flv.TagHeaderLen + h.Size
		if len(tags) < end+flv.PrevTagSizeLen || int(binary.BigEndian.Uint32(tags[end:])) != end {
			return errTags
		}
		body := tags[flv.TagHeaderLen:end]
		_, t := classify(h.Type, body)
		p := mem.Wrap(body, nil)
		r.hasData = r.hasData || kind(k).data()
		r.push(h.Type, kind(k), t, h.Time, st.Came[i], p)
		s.received.count(kind(k), h.Time, h.Size) // for the groups
		p.Release()
		if st.Marks != nil {
			r.setMark(r.next-1, st.Marks[i])
		}
		tags = tags[end+flv.PrevTagSizeLen:]
	}
	if len(tags) > 0 {
		return errCount
	}
	r.hasVideo, r.hasMedia, r.mainTrack = st.HasVideo, st.HasMedia, track(st.Track)
	s.times = st.Times.timeline()
	s.received.frames, s.received.bytes = st.Frames, st.Bytes
	return nil
}
