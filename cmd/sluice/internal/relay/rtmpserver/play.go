package rtmpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
)

const (
	// ViewerBytes and viewerRate bound what a viewer may send, in all as a burst
	// and per second: viewers only send acknowledgements and a few commands.
	ViewerBytes = 1 << 20
	viewerRate  = 16 << 10
)

var (
	errDone   = errors.New("the viewer said that it was done")
	errFloods = errors.New("the viewer sends more than a viewer has to say")
)

// play begins to admit a viewer, on a goroutine of its own, and returns what reads
// from the peer meanwhile and until either ends, so that it is noticed when the
// peer leaves while it waits for its stream. There may be many thousands of
// viewers: what they hold is their peer and a small stack.
func (x *peer) play(ctx context.Context, req *rtmp.Request) (attend func()) {
	if x.conn.SetReadDeadline(time.Now().Add(x.server.Times.Rate)) != nil {
		return nil
	}
	a := &admission{over: make(chan struct{})}
	ctx, a.cancel = context.WithCancel(ctx)
	go func() {
		defer close(a.over)
		defer a.stop()
		x.admitViewer(ctx, req)
	}()
	return func() {
		defer x.close()
		err := x.attend()
		a.stop()
		<-a.over
		if v := x.out.watching(); v != nil {
			v.Close(err)
			<-v.Done()
		}
	}
}

// admission is one that goes on.
type admission struct {
	over chan struct{} // closed at its end

	mu     sync.Mutex
	cancel context.CancelFunc // nil when it has been called, so that the context is let go
}

func (a *admission) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cancel != nil {
		a.cancel()
		a.cancel = nil
	}
}

// admitViewer turns the connection into a viewer, or refuses it and ends the
// connection.
func (x *peer) admitViewer(ctx context.Context, req *rtmp.Request) {
	s := x.server
	info, err := x.info(req)
	var o session.PlayOptions
	if err == nil {
		o, err = session.ParsePlayOptions(req.Query)
	}
	var st *live.Stream
	var done func()
	if err == nil {
		st, done, err = s.AdmitPlay(ctx, info, o)
	}
	if err != nil {
		x.refuse(session.RoleViewer, req, info, err)
		x.refused.Store(true) // set before the deadline, because attend may move the deadline
		x.conn.SetReadDeadline(time.Now().Add(lingering))
		return
	}
	if err := x.c.Accept(req); err != nil {
		done()
		x.conn.Close()
		return
	}
	// On failure Watch closes the connection.
	x.out.handOver(func() (*live.Viewer, error) {
		return s.Watch(x.conn, st, info, o, session.Viewing{Form: live.FormRTMP, Trailer: playEnd(req), Done: done})
	})
}

// attend reads the peer's messages until the connection ends, and returns the
// reason to close the viewer. It holds no memory while the peer is silent.
func (x *peer) attend() error {
	began := time.Now()
	before := x.r.TotalRead()
	for {
		m, err := x.c.ReadMessage()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// ReadMessage handles acknowledgements and other control messages
			// itself, so check from time to time how many bytes have come.
			err = x.conn.SetReadDeadline(time.Now().Add(x.server.Times.Rate))
			if err == nil && x.refused.Load() {
				return session.ErrIdle
			}
		}
		if err != nil {
			return session.PeerError(err)
		}
		if sent := x.r.TotalRead() - before; sent > ViewerBytes+int64(time.Since(began).Seconds()*viewerRate) {
			m.Release()
			return errFloods
		}
		if m.Type == rtmp.TypeCommandAMF0 || m.Type == rtmp.TypeCommandAMF3 {
			err = x.command(m)
		}
		m.Release()
		if err != nil {
			return err
		}
	}
}

// command handles a viewer's command; m is borrowed. An error ends the viewer.
func (x *peer) command(m rtmp.Message) error {
	action, err := x.c.Answer(m)
	if err != nil {
		return session.PeerError(err)
	}
	v := x.out.watching()
	switch {
	case action == rtmp.Close:
		return errDone
	case v == nil:
	case action == rtmp.Pause:
		v.Pause(true)
	case action == rtmp.Resume:
		v.Pause(false)
	}
	return nil
}

// playEnd returns the messages, in chunks, that a player gets when its stream
// ends.
func playEnd(req *rtmp.Request) []byte {
	var out bytes.Buffer
	w := sluice.NewBufWriter(&out)
	defer w.Recycle()
	// A new chunk writer begins with the default chunk size and announces a
	// longer one, so the peer gets that announcement a second time.
	c := rtmp.NewChunkWriter(w)
	err := c.SetChunkSize(rtmp.DefaultChunkSize)
	eof := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(nil, uint16(rtmp.EventStreamEOF)), req.StreamID)
	messages := []rtmp.Message{{Type: rtmp.TypeUserControl, Payload: mem.Wrap(eof, nil)}}
	for _, code := range []string{"NetStream.Play.UnpublishNotify", "NetStream.Play.Stop"} {
		p, wrong := rtmp.AppendCommand(nil, "onStatus", 0, nil, amf0.Object{
			{Name: "level", Value: "status"},
			{Name: "code", Value: code},
			{Name: "description", Value: "The stream is over."},
		})
		err = cmp.Or(err, wrong)
		messages = append(messages, rtmp.Message{Type: rtmp.TypeCommandAMF0, StreamID: req.StreamID, Payload: mem.Wrap(p, nil)})
	}
	for i := range messages {
		err = cmp.Or(err, c.WriteMessage(messages[i]))
	}
	if err = cmp.Or(err, w.Flush()); err != nil {
		panic(fmt.Sprintf("relay: the end of a stream cannot be written: %v", err))
	}
	return out.Bytes()
}
