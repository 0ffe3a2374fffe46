package streamdoctor

import "time"

// A Look is what was seen at one moment.
type Look struct {
	At        time.Time
	Late      time.Duration // by which this look was later than it was meant to be
	CPU       time.Duration // that this process has used
	Publisher string        // its session; empty when there is none
	Frames    int64         // that it has sent
	Media     uint32        // time of the newest frame, ms
	Line      Line
	Viewers   map[string]Viewer // by session; nil: this look was not at viewers
}

// A Line is what the kernel knows of the publisher's connection.
type Line struct {
	Known    bool
	Received int64 // bytes, also of a frame that is not whole yet
	Reorders int64 // packets that came out of order: others were lost on the way
	Unacked  bool  // the peer has not acknowledged what was sent to it
	Parts    bool  // Partial is known
	Partial  int64 // bytes since the newest whole frame, beside what rises slowly
}

// A Viewer is what is known of one.
type Viewer struct {
	Lag            time.Duration // since the oldest frame came that it has not acknowledged
	Merge          time.Duration // for which frames are collected for it
	Jumps, Dropped int64
}

// Seen are the looks at one stream, the oldest first.
type Seen struct {
	Looks       []Look
	Processors  int   // that this process may use
	MemoryShort error // why the server is full; nil: it is not
}
