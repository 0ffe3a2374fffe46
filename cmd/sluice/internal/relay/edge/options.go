package edge

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluice-go/sluice/live"
)

// Sink receives the frames of one pull; *live.Publisher is one.
type Sink interface {
	// Publish takes a frame, transferred. An error ends the pull.
	Publish(live.Frame) error
	Close()
}

// A Resumer is a Sink that is notified when the following frames come over a new
// connection, whose timestamps start at another value.
type Resumer interface{ Resume() }

// A Resuming is a Sink that knows how far it has come, so that another server can go
// on behind that. Its Resume is not called: it sees by the marks of frames what they
// follow.
type Resuming interface {
	// After returns the mark of the latest frame.
	After() live.Mark
	// From is called before the first frame of each connection, with its origin, and
	// with nil when that is lost.
	From(*Origin)
}

// A Routed is a Sink that is given the servers that the stream comes through, before the
// first frame of each connection.
type Routed interface{ Through(Way) }

// An Ended is a Sink from which its stream can be taken: by another publisher, or an operator.
type Ended interface {
	// Done is closed then.
	Done() <-chan struct{}
	// Err returns why, and nil before.
	Err() error
}

// Local is the server that streams are pulled for.
type Local interface {
	// Publish makes a pull the publisher of a stream. An error ends the pull;
	// live.ErrBusy says that the stream is here without it.
	Publish(stream, origin string) (Sink, error)
	// Viewers returns the number of viewers of a stream, those who still wait
	// included. It must not call the Puller.
	Viewers(stream string) int
}

// Options configures a Puller. Local and one of Origins and Locate are required; each
// other field has a default, which its comment gives.
type Options struct {
	// Origins are tried in order; those that could not be reached recently come
	// last.
	Origins []*Origin
	// Locate returns the origins of a stream at this moment, in the order in which to
	// try them. They are other servers of a cluster, and send marks. nil: Origins.
	Locate func(stream string) []*Origin
	// Failed, which may be nil, is called when an origin could not be reached, or refused this
	// server. It must not wait.
	Failed func(stream string, from *Origin, err error)
	Local  Local
	// ID is this server's name in paths; a random one.
	ID string
	// Linger is how long a pull goes on without viewers; 10 s.
	Linger time.Duration
	// Start is how long a connection to the origin may take until its first
	// frame; 10 s.
	Start time.Duration
	// Answer is how long origins may take to answer while there are others to ask, all together but the last;
	// a quarter of Start. Each has two fifths of it at least. Those that Locate returns are not limited.
	Answer time.Duration
	// Idle is the longest silence of the origin; 10 s. A frame has to be there in twice that, whatever
	// comes of it.
	Idle time.Duration
	// Quiet, which may be nil, is called when an origin that has sent frames was silent for so long,
	// and reports whether that is the publisher's silence: then the connection stays. It must not
	// wait. It is not asked about origins behind TLS or a proxy, whose connections end by a timeout.
	Quiet func(stream string, from *Origin) bool
	// Retry is the first wait before the origins are asked again for a stream
	// that has played, and RetryMost the longest; 250 ms, 3 s.
	Retry, RetryMost time.Duration
	// GiveUp is how long a stream that has played may lack frames, whatever the
	// origins answer, before its pull ends; 60 s.
	GiveUp time.Duration
	// Refuse is how long a stream that could not be pulled is refused without
	// asking the origin again; 1 s.
	Refuse time.Duration
	// Max is how many streams may be pulled at once; 1,000.
	Max int
	// MaxFrame is the longest frame that is accepted, in bytes; 8 MiB.
	MaxFrame int
	// TLS is for connections to the origin; nil uses the system's roots.
	TLS *tls.Config
	// Logger logs pulls that begin and end; nil is slog.Default().
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if len(o.Origins) == 0 && o.Locate == nil || o.Local == nil {
		panic(fmt.Sprintf("edge: a Puller with the origins %v and %v to publish in", o.Origins, o.Local))
	}
	o.ID = cmp.Or(o.ID, NewID())
	o.Linger = cmp.Or(o.Linger, 10*time.Second)
	o.Start = cmp.Or(o.Start, 10*time.Second)
	o.Answer = cmp.Or(o.Answer, o.Start/4)
	o.Idle = cmp.Or(o.Idle, 10*time.Second)
	o.Retry = cmp.Or(o.Retry, 250*time.Millisecond)
	o.RetryMost = max(cmp.Or(o.RetryMost, 3*time.Second), o.Retry)
	o.GiveUp = cmp.Or(o.GiveUp, time.Minute)
	o.Refuse = cmp.Or(o.Refuse, time.Second)
	o.MaxFrame = cmp.Or(o.MaxFrame, 8<<20)
	o.Max = cmp.Or(o.Max, 1000)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o
}
