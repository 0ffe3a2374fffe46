package relay

import "time"

const (
	RTMP = "rtmp"
	FLV  = "flv" // over HTTP
)

// Work is what a load has to do.
type Work struct {
	Publish  string        // HOST:PORT where the server takes RTMP
	View     string        // HOST:PORT where it gives Form; of several, with commas, each gets its part of the viewers
	Form     string        // RTMP or FLV
	App      string        // the stream's name in two parts
	Stream   string        // of several, a number follows
	Streams  int           // each published by a connection of its own; 0 is one
	Viewers  int           // that are there before the window, of the streams in their order
	Joins    int           // viewers that join in the window, one after another
	AtOnce   bool          // all of them at its beginning, and each leaves when it has a key frame
	OneByOne bool          // a viewer joins when the one before has a key frame
	Hop      bool          // View has two addresses: every other viewer is one hop further away
	Edges    int           // of each stream's viewers one is at each of so many servers, a power of two; 0: Viewers says how many there are
	Unviewed bool          // measure for a window before the first viewer joins, too
	TLS      bool          // viewers come over TLS; the certificate is not verified
	Waits    bool          // viewers over FLV ask the server to wait for a stream that it does not know yet
	Warm     time.Duration // before the first viewer joins, and at least between the last one's joining and readiness
	Window   time.Duration // what is measured
	Clip     string        // the path of an FLV file
	Server   int           // the number of the server's process
}

// A Result is what a window came to. A frame is one that was published; a frame
// delivered, one at one viewer.
type Result struct {
	Window    time.Duration // as it was
	Published int           // frames
	Delivered int           // frames that became complete in the window
	Since     int           // frames delivered from the command "go" to the end of the run
	Bytes     int64         // that the viewers received in the window
	CPU       time.Duration // of the server's process in the window
	Resident  int64         // bytes of the server's process at the end of the window
	Grown     int64         // those, less what it had before the first connection
	Lost      int           // frames that a viewer did not get, although it got one before it
	Odd       int           // frames that a viewer got with a time or size that was not published, or once more
	Oddity    string        // the first of them
	Closed    int           // viewers whose connection the server ended
	LagP50    time.Duration // from the sending of a frame to the end of its receipt at a viewer
	LagP99    time.Duration
	HopP50    time.Duration // with Hop: how much later a frame came to the viewers further away, the first of them each time
	HopP99    time.Duration
	Unviewed  time.Duration // of the server's process in the window before there were viewers
	KeyP50    time.Duration // from a viewer's connecting to the last byte of its first key frame, of those that joined in the window if there are any
	KeyP99    time.Duration
	Served    int           // viewers who got one, of the same
	Late      time.Duration // how much after it was due one frame in a hundred was sent, or more
	Busy      float64       // the part of the window for which the load's processor worked
}

// PerDelivery is the processor time of the server's process for each frame delivered, without
// that which it needed with no viewers.
func (r Result) PerDelivery() time.Duration {
	return (r.CPU - r.Unviewed) / time.Duration(max(r.Delivered, 1))
}

// PerGB is the server's processor time in seconds for 1,000,000,000 bytes
// delivered.
func (r Result) PerGB() float64 { return r.CPU.Seconds() / (float64(r.Bytes) / 1e9) }
