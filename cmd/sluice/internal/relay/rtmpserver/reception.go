package rtmpserver

import (
	"cmp"
	"errors"
	"net"
	"os"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/contain"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/ingest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/intake"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/rtmp"
)

const (
	// maxSilent is for how many windows of its rate a publisher may send other
	// messages without a frame.
	maxSilent = 3
	// messagesAtOnce is how many messages of a publisher an event loop takes before it
	// looks at the others.
	messagesAtOnce = 64
)

var (
	// errAhead is the error of a frame that a loop cannot publish, because that may block.
	errAhead = errors.New("the publisher is ahead of real time")
	// errWindow ends the reading of a goroutine: another may go on.
	errWindow = errors.New("a window of the publisher's rate is over")
	// errPause ends a loop, because the publisher's goroutine is to stand still.
	errPause = errors.New("the session is to stand still")
)

// reception publishes what a peer sends. An event loop reads it where there is one, until
// the publisher is so far ahead of real time that publishing may block; then the
// publisher's goroutine does, for a window of its rate.
type reception struct {
	// First what each frame needs. in and from are x's, which is not looked at then: with many
	// publishers each further piece of memory has to be fetched for each frame.

	in     *rtmp.Conn
	from   *sluice.BufReader
	c      *session.Client
	line   *session.MediaLine
	p      *live.Publisher // nil before the first frame, when there is another
	frames int

	x              *peer
	claim          *session.Claim
	watchdog       *session.Watchdog
	still          *publication
	before, silent int
	held           []live.Frame // retained: not published yet, after errAhead
	err            error        // why a loop has ended
}

// run returns why the reception ended: session.ErrEndOfBody when the peer says that it is
// done.
func (r *reception) run() error {
	// When the publication is ended from elsewhere, the read from the peer is interrupted.
	r.claim.OnDone(r.watchdog.Stop)
	defer r.claim.OnDone(nil)
	if r.claim.Publisher() != nil {
		if err := r.begin(); err != nil {
			return err
		}
	}
	for {
		err := errAhead
		if x := r.x; x.loop != nil && x.enlist() && x.loop.Serve(r) == nil {
			err, r.err = r.err, nil
		}
		if err == nil || err == errAhead || err == errPause { // nil: the loops have ended
			err = r.wait()
		}
		if err != errWindow {
			return err
		}
	}
}

// begin is called when the stream is the publisher's. What only claims a stream cannot be
// given to another process.
func (r *reception) begin() (err error) {
	if r.p, err = r.claim.Begin(); err != nil {
		return err
	}
	if r.x.loop != nil {
		r.c.MovesBy(r.still, r.x.loop)
	} else if tcp, ok := r.x.conn.(*net.TCPConn); ok {
		r.c.MovesBy(r.still, tcp)
	}
	return nil
}

// wait takes messages, and waits for them, until a window is over.
func (r *reception) wait() error {
	for len(r.held) > 0 {
		f := r.held[0] //sluice:moved
		r.held = r.held[1:]
		if err := r.publish(f, true); err != nil {
			for i := range r.held {
				r.held[i].Payload.Release()
			}
			return err
		}
	}
	r.held = nil
	for {
		if r.still.Asked() {
			if r.still.stands(r.watchdog.Resume) {
				return session.ErrMoved
			}
			return errWindow
		}
		m, err := r.in.ReadMessage()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if r.still.Asked() {
				continue
			}
			if err = r.late(); err == nil && r.x.loop != nil {
				err = errWindow
			}
		} else {
			err = r.take(m, err, true)
		}
		if err != nil {
			return err
		}
	}
}

// Ready implements intake.Handler.
func (r *reception) Ready() (v intake.Verdict) {
	v = intake.Over
	// The loop is that of other publishers too.
	r.err = contain.Run(r.x.server.Log, func() error {
		for range messagesAtOnce {
			m, err := r.in.ReadMessage()
			if err == intake.ErrDry {
				v = intake.Wait
				return nil
			}
			if err := r.take(m, err, false); err != nil {
				return err
			}
		}
		v = intake.Again
		return nil
	})
	return v
}

// Late implements intake.Handler.
func (r *reception) Late() intake.Verdict {
	if r.still.Asked() {
		r.err = errPause
		return intake.Over
	}
	if r.err = r.late(); r.err != nil {
		return intake.Over
	}
	return intake.Wait
}

// late is called when the deadline of the watchdog has passed.
func (r *reception) late() error {
	if err := r.watchdog.Check(r.from.TotalRead()); err != nil {
		return cmp.Or(r.claim.Err(), err)
	}
	if r.silent++; r.frames > r.before {
		r.before, r.silent = r.frames, 0
	}
	if r.silent == maxSilent {
		return session.ErrIdle
	}
	return nil
}

// take handles what ReadMessage has returned; m is transferred.
func (r *reception) take(m rtmp.Message, err error, block bool) error {
	if err != nil {
		return session.FrameError(session.PeerError(err), r.x.server.Config().MaxFrame)
	}
	if m.Type == rtmp.TypeCommandAMF0 || m.Type == rtmp.TypeCommandAMF3 {
		action, err := r.in.Answer(m)
		m.Release()
		if err != nil {
			return session.PeerError(err)
		}
		if action == rtmp.Close {
			return session.ErrEndOfBody
		}
		return nil
	}
	f, ok := ingest.Frame(m)
	if !ok {
		return nil
	}
	r.frames++
	header, ok := r.c.Came(&f)
	r.line.Whole(r.from.TotalRead() - int64(r.from.Buffered()))
	if !ok {
		f.Payload.Release()
		return nil
	}
	if header.Payload.Valid() {
		switch err := r.publish(header, block); {
		case err == errAhead:
			r.held = append(r.held, f) //sluice:moved
			return err
		case err != nil:
			f.Payload.Release()
			return err
		}
	}
	return r.publish(f, block)
}

// publish publishes f, transferred. Unless it may block it may keep f and return errAhead.
func (r *reception) publish(f live.Frame, block bool) error {
	if block {
		return r.watchdog.Exclude(func() error {
			if r.p == nil {
				if err := r.begin(); err != nil {
					f.Payload.Release()
					return err
				}
			}
			return r.p.Publish(f)
		})
	}
	ok, err := false, error(nil)
	if r.p != nil {
		ok, err = r.p.TryPublish(f)
	}
	if !ok {
		r.held = append(r.held, f) //sluice:moved
		return errAhead
	}
	return err
}
