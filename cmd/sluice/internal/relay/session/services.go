package session

import (
	"context"
	"net/url"

	"github.com/sluice-go/sluice/live"
)

// puller pulls streams from an origin while they have viewers.
type puller interface {
	// Want counts a viewer of info.Stream. It starts a pull for the first viewer
	// if the stream has no publisher here, and returns when the stream exists. It
	// returns ErrNotFound when there is none within the viewer's waiting time.
	// After an error nothing is counted.
	Want(ctx context.Context, info Info) error
	// Release removes a viewer that Want counted.
	Release(stream string)
	// Close ends all pulls and waits for them, until ctx is done.
	Close(ctx context.Context) error
}

// recorder writes published streams to files, pushes them to other servers, or runs
// commands for them.
type recorder interface {
	// Begin is called when a publisher begins, also when the stream is already
	// being recorded.
	Begin(st *live.Stream)
	// Close finishes all files, pushes or commands, until ctx is done.
	Close(ctx context.Context) error
}

// cluster is what a host asks of the other servers of its cluster.
type cluster interface {
	// Publish enters a publication on this server and returns its epoch. An error
	// matches ErrElsewhere.
	Publish(stream, publisher string) (epoch uint64, err error)
	// Remove removes it. Another one that has replaced it stays.
	Remove(stream string, epoch uint64)
	// Lost returns why this server's publication of a stream has to end, an error that
	// matches ErrElsewhere; nil when it has not.
	Lost(stream string) error
	// Stand enters a publication that may have to wait for another server's, and
	// reports whether it has to.
	Stand(stream, publisher string) (epoch uint64, held bool)
	// Held returns the epoch of this server's publication of a stream, and whether it
	// has to wait.
	Held(stream string) (epoch uint64, held, ok bool)
	// SetActive says whether viewers get this server's publication.
	SetActive(stream string, epoch uint64, on bool)
	// Yield puts this server's publication behind those of the others, if there are
	// any, and returns its new epoch.
	Yield(stream string, epoch uint64) (next uint64, ok bool)
	// Granted returns the server that a request for a stream is from.
	Granted(stream string, q url.Values) (node string, err error)
	// Pulled reports whether the stream's publisher here is a pull.
	Pulled(stream string) bool
}

// Services are what a Host works with where the settings ask for it. They are set before
// the server listens.
type Services struct {
	Puller   puller   // nil: no origin
	Cluster  cluster  // nil: this server is alone
	Recorder recorder // nil: nothing is recorded
	Pusher   recorder // nil: nothing is pushed
	Commands recorder // nil: no commands run
	// TookOver is called when a publisher that stood by has taken its stream's place; nil: none.
	TookOver func(Info)
	// OnRefusal is called with each refused session and must not wait; nil: none.
	OnRefusal func(r Role, info Info, err error)
}
