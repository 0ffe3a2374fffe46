package hls

import (
	"errors"
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

var (
	errNoTracks = errors.New("the stream has no track that HLS can carry")
	errStill    = errors.New("the time stamps of the stream stand still: HLS cannot be made of it")
	errMemory   = fmt.Errorf("%w: no memory for segments", session.ErrFull)
)

var (
	// errGone: the session was ended by the server, and its player asks on.
	errGone = errors.New("the session has ended")
	// errQuiet: the viewer has asked for nothing for some time.
	errQuiet = fmt.Errorf("the player asks no more: %w", session.ErrPeerGone)
)

// errNothingTaken: others wanted the viewer's place, and it took no media.
var errNothingTaken = fmt.Errorf("the player takes no media, and its place was wanted: %w", session.ErrIdle)

// errNoFile: the address is none, or what was there is gone.
var errNoFile = fmt.Errorf("%w: no such file of HLS", session.ErrNotFound)

// errLate: what was waited for has not come in time.
var errLate = errors.New("this has not come in time")

// errBusy: too many requests wait.
var errBusy = errors.New("too many requests wait for what comes next")
