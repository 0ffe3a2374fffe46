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
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
)

// play admits a viewer, where that may take time on a goroutine of its own, and returns
// what reads from the peer meanwhile, so that it is noticed when the peer leaves while it
// waits for its stream. When the viewer has been admitted, that ends and inbound goes on. There
// may be many thousands of viewers that wait: what they hold is their peer and a small
// stack.
func (x *peer) play(ctx context.Context, req *rtmp.Request) (attend func(over func())) {
	x.leaveLoops()
	in := &inbound{server: x.server, conn: x.conn, began: time.Now(), received: -x.r.TotalRead(), reading: true}
	a := &admission{over: make(chan struct{})}
	ctx, a.cancel = context.WithCancel(ctx)
	admit := func() {
		defer close(a.over)
		defer a.stop()
		x.admitViewer(ctx, req, in)
	}
	if info, err := x.info(req); err != nil || x.server.AtOnce(info.Stream) {
		admit() // another goroutine might have to wait behind many
	} else {
		go admit()
	}
	return func(over func()) {
		in.over = over
		err := x.attend(in)
		a.stop()
		<-a.over
		if err != nil {
			in.end(x.desk, err)
			return
		}
		in.rest(x.desk)
	}
}

// attend reads from the peer until it is a viewer, or until its connection ends.
func (x *peer) attend(in *inbound) error {
	for {
		// The deadline is set before looking at what admitViewer sets before the deadline.
		err := x.conn.SetReadDeadline(time.Now().Add(x.server.Times.Rate))
		switch {
		case err != nil:
			return err
		case in.viewer.Load() != nil:
			if x.r.Buffered() == 0 {
				return nil
			}
			// What came with the request is here already, and nothing would report it.
			if err = in.receiveFor(x.desk, brief); errors.Is(err, os.ErrDeadlineExceeded) {
				return nil
			}
			return err
		case x.refused.Load():
			err = in.receiveFor(x.desk, lingering)
		default:
			err = in.receive(x.desk)
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		if x.refused.Load() {
			return session.ErrIdle
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
func (x *peer) admitViewer(ctx context.Context, req *rtmp.Request, in *inbound) {
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
	if err := x.accept(req, info, st); err != nil {
		done()
		x.conn.Close()
		return
	}
	how := session.Viewing{
		Form: live.FormRTMP, Trailer: playEnd(), Readable: in.readable, Inlet: in,
		Done: func() {
			done()
			in.viewerEnded()
		},
	}
	// On failure Watch closes the connection.
	_, _ = x.out.HandOver(func() (*live.Viewer, error) {
		v, err := s.Watch(x.conn, st, info, o, how)
		in.viewer.Store(v)
		return v, err
	})
	x.conn.SetReadDeadline(time.Unix(1, 0)) // ends attend
}

// accept accepts a viewer. Another server is given the way that the stream comes, so that it
// does not take what it has sent itself.
func (x *peer) accept(req *rtmp.Request, info session.Info, st *live.Stream) error {
	if err := x.c.Accept(req); err != nil || len(info.Via) == 0 {
		return err
	}
	return cmp.Or(x.c.WriteCommand(playStream, "onStatus", 0, nil, amf0.Object{
		{Name: "level", Value: "status"},
		{Name: "code", Value: edge.StatusVia},
		{Name: "description", Value: x.server.Way(st).Names()},
	}), x.c.Flush())
}

// playEnd are the messages, in chunks, that a player gets when its stream ends: the
// same bytes for all, whose message stream is the same.
var playEnd = sync.OnceValue(func() []byte {
	var out bytes.Buffer
	w := sluice.NewBufWriter(&out)
	defer w.Recycle()
	// A new chunk writer begins with the default chunk size and announces a
	// longer one, so the peer gets that announcement a second time.
	c := rtmp.NewChunkWriter(w)
	err := c.SetChunkSize(rtmp.DefaultChunkSize)
	eof := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(nil, uint16(rtmp.EventStreamEOF)), playStream)
	messages := []rtmp.Message{{Type: rtmp.TypeUserControl, Payload: mem.Wrap(eof, nil)}}
	for _, code := range []string{"NetStream.Play.UnpublishNotify", "NetStream.Play.Stop"} {
		p, wrong := rtmp.AppendCommand(nil, "onStatus", 0, nil, amf0.Object{
			{Name: "level", Value: "status"},
			{Name: "code", Value: code},
			{Name: "description", Value: "The stream is over."},
		})
		err = cmp.Or(err, wrong)
		messages = append(messages, rtmp.Message{Type: rtmp.TypeCommandAMF0, StreamID: playStream, Payload: mem.Wrap(p, nil)})
	}
	for i := range messages {
		err = cmp.Or(err, c.WriteMessage(messages[i]))
	}
	if err = cmp.Or(err, w.Flush()); err != nil {
		panic(fmt.Sprintf("relay: the end of a stream cannot be written: %v", err))
	}
	return out.Bytes()
})

// playStream is the only message stream that a server makes: rtmp.Request.StreamID.
const playStream = 1
