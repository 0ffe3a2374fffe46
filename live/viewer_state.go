package live

import "time"

// A ViewerState is what another process needs to go on with a viewer.
type ViewerState struct {
	Form      Form          `json:"form"` // this and Merge to NoGOP: as in ViewerOptions
	Merge     time.Duration `json:"merge"`
	Adapt     bool          `json:"adapt"`
	Since     time.Time     `json:"since"` // when it was added
	FromStart bool          `json:"from_start"`
	NoGOP     bool          `json:"no_gop"`
	After     uint64        `json:"after"` // with NoGOP, and in a stream of data alone: the first frame to begin with

	Seq      uint64 `json:"seq"`      // of the frame that is next
	Begun    bool   `json:"begun"`    // Seq counts, and the headers have been sent
	Moved    bool   `json:"moved"`    // it goes on at the newest key frame
	Fell     bool   `json:"fell"`     // because it was out of the ring
	Pictures uint64 `json:"pictures"` // video frames before this one are left out; the highest number: until a key frame
	KeyFrom  uint64 `json:"key_from"` // then: key frames before this one are left out, too
	Paused   bool   `json:"paused"`
	Tail     []byte `json:"tail,omitempty"`    // the rest of a message that was begun
	Control  []byte `json:"control,omitempty"` // goes out after it

	Bytes   int64 `json:"bytes"`
	Frames  int64 `json:"frames"`
	Dropped int64 `json:"dropped"`
	Jumps   int64 `json:"jumps"`
}

// State returns the state of v, which a Freeze has made stand still. It reports false for a
// viewer that another process cannot go on with: one over TLS, one that is closed or is about
// to be, one with FormHop or FormRaw.
func (v *Viewer) State() (ViewerState, bool) {
	if v.link.waits || v.link.wire != nil || v.state >= stateEnded || v.leaves > 0 || v.cursor.form > FormChunked || v.cursor.behind != nil {
		return ViewerState{}, false
	}
	c, f := &v.cursor, &v.figures
	st := ViewerState{
		Form: c.form, Merge: v.options.merge, Adapt: v.options.adapt, Since: v.since, FromStart: c.fromStart, NoGOP: c.noGOP, After: c.after,
		Seq: c.seq, Begun: c.begun, Moved: c.moved, Fell: c.fell, Pictures: c.pictures, KeyFrom: c.keyFrom, Paused: v.paused,
		Bytes: f.bytes.Load(), Frames: f.frames.Load(), Dropped: f.dropped.Load(), Jumps: f.jumps.Load(),
	}
	if c.tail != nil {
		st.Tail = c.tail.bytes()
	}
	v.inbox.mu.Lock()
	r := v.inbox.asked
	st.Control = append(append(st.Control, v.control...), r.control...)
	over := v.inbox.over || r.close != nil || r.leaves > 0
	v.inbox.mu.Unlock()
	switch {
	case r.pause:
		st.Paused = true
	case r.resume && (st.Paused || r.again):
		st.Paused, st.Moved = false, st.Begun
	}
	return st, !over
}

// restore makes a new viewer the one that st is of.
func (v *Viewer) restore(st *ViewerState) {
	c, f := &v.cursor, &v.figures
	c.after, c.seq, c.begun, c.moved, c.fell, c.pictures, c.keyFrom = st.After, st.Seq, st.Begun, st.Moved, st.Fell, st.Pictures, st.KeyFrom
	if len(st.Tail) > 0 {
		c.rest(v.stream.clock()).add(st.Tail)
	}
	v.paused, v.since = st.Paused, st.Since
	v.control = append(v.control, st.Control...)
	f.bytes.Store(st.Bytes)
	f.frames.Store(st.Frames)
	f.dropped.Store(st.Dropped)
	f.jumps.Store(st.Jumps)
	if st.Begun {
		f.seq.Store(st.Seq)
		f.joined.Store(true)
	}
}
