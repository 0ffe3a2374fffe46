package live

import (
	"cmp"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/mem"
)

// StreamOptions bound what a stream keeps. A field that is 0 has its default,
// which is given with it.
type StreamOptions struct {
	// GOPBytes, GOPFrames and GOPTime bound the ring. Frames since the newest
	// key frame are kept, for new viewers and for those that were too slow, as
	// long as they are within all three. When a group of pictures is longer, a
	// new viewer waits for the next key frame.
	// 16 MiB, 4,096 frames, 30 s.
	GOPBytes  int
	GOPFrames int
	GOPTime   time.Duration
	// NoGOP keeps no more than Backlog, and makes new viewers wait for the next
	// key frame.
	NoGOP bool
	// Backlog is for how long frames before the newest key frame are kept for
	// viewers who lag, within the same bounds, and for as long after the last viewer
	// has left. 3 s. While the publisher is faster than real time, and waits for
	// viewers, only GOPBytes and GOPFrames count.
	Backlog time.Duration
	// Grace is for how long a stream without a publisher waits for one to come
	// back before it is over. 0: it is over at once.
	Grace time.Duration
	// Silence is after how long without a frame the publisher loses its place to one
	// that waits, see PublishOptions.Standby. 0: only when it ends.
	Silence time.Duration
	// Ahead is how far a publisher may be ahead of real time before it has to
	// wait for viewers that are behind. 1 s.
	Ahead time.Duration
	// MaxFrame is the longest payload in bytes; 8 MiB.
	MaxFrame int
	// Raw makes the stream one of messages, not of media: payloads are kept
	// bare, every one is a place to start at, and FormRaw is the only form. A frame's
	// Type does not count then, and its Time only for Ahead: 0 is never ahead.
	Raw bool
	// Packets makes the stream one of media in another protocol's packets: payloads
	// are kept bare, and FormRaw is the only form, as with Raw. But each frame's
	// Type and Key count, so that viewers begin at a key frame, and late ones are
	// moved on, as in a stream of FLV. Without Raw.
	Packets bool
	// Marks keeps a Mark of each frame, for FormHop.
	Marks bool
	// Allocator gives the ring's memory; nil is mem.Default().
	Allocator *mem.Allocator
}

// bare reports whether payloads are kept without any wire form around them.
func (o *StreamOptions) bare() bool { return o.Raw || o.Packets }

const maxMessage = 1<<24 - 1 // what FLV and RTMP have three bytes for

func (o StreamOptions) withDefaults() StreamOptions {
	if o.GOPBytes < 0 || o.GOPFrames < 0 || o.GOPTime < 0 || o.Backlog < 0 || o.Grace < 0 || o.Silence < 0 || o.Ahead < 0 || o.MaxFrame < 0 || o.MaxFrame > maxMessage || o.Raw && o.Packets {
		panic(fmt.Sprintf("live: StreamOptions out of range: %+v", o))
	}
	o.GOPBytes = cmp.Or(o.GOPBytes, 16<<20)
	o.GOPFrames = cmp.Or(o.GOPFrames, 4096)
	o.GOPTime = cmp.Or(o.GOPTime, 30*time.Second)
	o.Backlog = cmp.Or(o.Backlog, 3*time.Second)
	o.Ahead = cmp.Or(o.Ahead, time.Second)
	o.MaxFrame = cmp.Or(o.MaxFrame, 8<<20)
	if o.Allocator == nil {
		o.Allocator = mem.Default()
	}
	return o
}

// WriterOptions configure a Writer. A field that is 0 has its default.
type WriterOptions struct {
	// Loops is how many goroutines send; GOMAXPROCS.
	Loops int
	// Merge is how long frames are collected before they are sent, for viewers
	// whose ViewerOptions.Merge is negative. Sending costs per call, hardly per
	// byte. 0 sends each frame as it comes.
	Merge time.Duration
	// Lag is how far behind live a viewer with a slow connection may be: 2 s.
	// Pictures that would come later are skipped, up to a key frame that comes in
	// time. Viewers of a stream with StreamOptions.Raw are sent everything, as
	// are those of a publisher that is faster than real time.
	Lag time.Duration
	// Stall is for how long a viewer may take no byte while some wait for it, and for
	// how long a handshake of TLS may take that was not done before Add. 10 s.
	Stall time.Duration
	// Jumps is how often a viewer may be moved on to the newest key frame
	// within JumpTime. 5 in 30 s.
	Jumps    int
	JumpTime time.Duration
	// Control is how many control bytes may wait for one viewer. 64 KiB.
	Control int
}

func (o WriterOptions) withDefaults(procs int) WriterOptions {
	if o.Loops < 0 || o.Merge < 0 || o.Lag < 0 || o.Stall < 0 || o.Jumps < 0 || o.JumpTime < 0 || o.Control < 0 {
		panic(fmt.Sprintf("live: WriterOptions out of range: %+v", o))
	}
	o.Loops = cmp.Or(o.Loops, procs)
	o.Lag = cmp.Or(o.Lag, 2*time.Second)
	o.Stall = cmp.Or(o.Stall, 10*time.Second)
	o.Jumps = cmp.Or(o.Jumps, 5)
	o.JumpTime = cmp.Or(o.JumpTime, 30*time.Second)
	o.Control = cmp.Or(o.Control, 64<<10)
	return o
}
