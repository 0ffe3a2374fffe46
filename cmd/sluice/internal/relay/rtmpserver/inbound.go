package rtmpserver

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/rtmp"
)

// brief is how long a viewer that has sent something is read from, before it is waited for
// without a goroutine again.
const brief = time.Millisecond

// inbound is what a viewer sends: acknowledgements, pings, a few commands. A viewer
// that is silent has this and nothing else: no goroutine, reader or buffers.
//
//	resting --something has come, or the viewer has ended--> reading --nothing for brief--> resting
//	                                                            \--an error, a reason--> end
//
// One goroutine at a time has it in the state of reading.
type inbound struct {
	server   *Server
	conn     net.Conn
	over     func() // ends the connection for the server
	began    time.Time
	received int64 // bytes, without those of the desk in use
	state    rtmp.Resting
	kept     *desk // instead of state: part of a message has come
	viewer   atomic.Pointer[live.Viewer]

	mu      sync.Mutex
	reading bool
	ended   bool // the viewer has
	hold    hold // for another process
}

// A hold makes an inbound stand still: nothing reads while it is held.
type hold struct {
	asked chan struct{} // closed when it is held; nil: it is not to be
	held  bool
}

// Write sends replies between the messages of the stream.
func (in *inbound) Write(p []byte) (int, error) {
	if err := in.viewer.Load().Control(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// take makes the caller the one that reads, unless there is one.
func (in *inbound) take() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	free := !in.reading
	in.reading = true
	return free
}

// rest ends reading: the peer has nothing more to say at the moment. Where the writer
// cannot notice it when it has, or when the viewer has ended, it goes on and waits.
func (in *inbound) rest(d *desk) {
	if !d.c.Rest(&in.state) {
		in.kept = d
	} else {
		in.received += d.r.TotalRead()
		in.server.putDesk(d)
	}
	in.settle()
}

// settle goes on from rest, unless it is to stand still.
func (in *inbound) settle() {
	in.mu.Lock()
	ended := in.ended
	if in.hold.asked != nil && !in.hold.held && !ended {
		in.holds()
		in.mu.Unlock()
		return
	}
	in.reading = ended
	in.mu.Unlock()
	if ended || !in.server.Writer.AwaitReadable(in.viewer.Load()) && in.take() {
		in.readOn()
	}
}

// open begins to read again.
func (in *inbound) open() *desk {
	if d := in.kept; d != nil {
		in.kept = nil
		return d
	}
	return in.server.takeDesk(in.conn, in, &in.state)
}

// readable is called when the peer has sent something, or has gone.
func (in *inbound) readable() {
	if !in.take() {
		return
	}
	d := in.open()
	if err := in.receiveFor(d, brief); !errors.Is(err, os.ErrDeadlineExceeded) {
		in.end(d, err)
		return
	}
	in.rest(d)
}

// viewerEnded is called when the viewer has ended. What its peer still sends is read:
// closing a connection with unread bytes resets it.
func (in *inbound) viewerEnded() {
	in.mu.Lock()
	in.ended = true
	in.mu.Unlock()
	if in.take() {
		in.readOn()
	}
}

// readOn reads until the connection ends.
func (in *inbound) readOn() {
	d := in.open()
	for {
		if err := in.receiveFor(d, in.server.Times.Rate); !errors.Is(err, os.ErrDeadlineExceeded) {
			in.end(d, err)
			return
		}
	}
}

// end ends the viewer, if there is one, and the connection.
func (in *inbound) end(d *desk, err error) {
	if v := in.viewer.Load(); v != nil {
		v.Close(session.PeerError(err))
		<-v.Done()
	}
	in.conn.Close()
	d.drop()
	in.over()
}

// receiveFor is receive with a deadline after the given time.
func (in *inbound) receiveFor(d *desk, long time.Duration) error {
	if err := in.conn.SetReadDeadline(time.Now().Add(long)); err != nil {
		return err
	}
	return in.receive(d)
}

// receive reads messages until that fails, at the deadline for one, or until the
// viewer is to end, and returns the error.
func (in *inbound) receive(d *desk) error {
	for {
		m, err := d.c.ReadMessage()
		// ReadMessage handles acknowledgements and other control messages itself, so
		// look at how many bytes have come at the deadline too.
		if sent := in.received + d.r.TotalRead(); session.Floods(sent, in.began) {
			m.Release()
			return session.ErrFloods
		}
		if err != nil {
			return err
		}
		if m.Type == rtmp.TypeCommandAMF0 || m.Type == rtmp.TypeCommandAMF3 {
			err = in.command(d, m)
		}
		m.Release()
		if err != nil {
			return err
		}
	}
}

// command handles a viewer's command; m is borrowed. An error ends the viewer.
func (in *inbound) command(d *desk, m rtmp.Message) error {
	action, err := d.c.Answer(m)
	if err != nil {
		return err
	}
	v := in.viewer.Load()
	switch {
	case action == rtmp.Close:
		return session.ErrDone
	case v == nil:
	case action == rtmp.Pause:
		v.Pause(true)
	case action == rtmp.Resume:
		v.Pause(false)
	}
	return nil
}

// holds makes it held. The lock is held.
func (in *inbound) holds() {
	in.hold.held = true
	close(in.hold.asked)
}
