package web

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/archive"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rewind"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
	"github.com/sluice-go/sluice/live"
)

const (
	// rewindLead is how much of a recording is sent at once; the rest comes as it is
	// played.
	rewindLead = 3 * time.Second
	// rewindPoll is how often it is looked whether more was recorded.
	rewindPoll = 200 * time.Millisecond
	// rewindOver is how long a stream goes on that is not recorded any more before what
	// comes of it is sent instead.
	rewindOver = 5 * time.Second
)

// recordedFrom is the field of an answer that says when what is sent was recorded.
const recordedFrom = "Recorded-From"

// playRecorded answers with what was recorded of a stream, from a time on. Until it
// returns no error, nothing has been sent.
func (w *Server) playRecorded(rw http.ResponseWriter, r *http.Request, info session.Info, upgrade bool) error {
	if w.Recorded == nil {
		return fmt.Errorf("%w in the past: nothing is recorded here", session.ErrNotFound)
	}
	from, err := w.Rewind(info.Stream, info.Query, time.Now())
	if err != nil {
		return err
	}
	done, err := w.AdmitGroup(r.Context(), info)
	if err != nil {
		return err
	}
	tape, err := w.Recorded.Files.Tape(info.Stream, from)
	if err != nil {
		done()
		if errors.Is(err, archive.ErrNotFound) {
			err = fmt.Errorf("%w: %w", session.ErrNotFound, err)
		}
		return err
	}
	release := func() {
		tape.Close()
		done()
	}
	reader := rewind.NewReader(tape)
	tags, at, err := reader.Next()
	if err != nil {
		release()
		return fmt.Errorf("%w: %w", session.ErrNotFound, err)
	}
	h := rw.Header()
	h.Set(recordedFrom, reader.From().UTC().Format(time.RFC3339Nano))
	h.Set("Access-Control-Expose-Headers", recordedFrom)
	if r.Method == http.MethodHead {
		release()
		h.Set("Content-Type", flvType)
		h.Set("Cache-Control", "no-store")
		h.Set("Connection", "close")
		rw.WriteHeader(http.StatusOK)
		return nil
	}
	v := &rewinder{server: w, stream: info.Stream, tape: tape, reader: reader}
	if upgrade {
		socket, err := (&websocket.Upgrader{HandshakeTimeout: w.Times.Answer, CheckOrigin: w.cors().admits}).Upgrade(rw, r, http.Header{recordedFrom: h[recordedFrom]})
		if err != nil { // the upgrader has answered
			release()
			w.Refused(session.RoleViewer, info, err)
			return nil
		}
		v.conn, v.form = plain(socket.NetConn()), live.FormWebSocket
	} else {
		conn, _, err := hijack(rw)
		if err != nil {
			release()
			return err
		}
		v.conn, v.form = conn, live.FormFLV
		length := endsWithConnection
		if r.ProtoAtLeast(1, 1) {
			v.form, length = live.FormChunked, chunkedBody
		}
		v.prelude = headerOf(http.StatusOK, flvType, length, h)
	}
	client := w.Begin(session.RoleViewer, info)
	ctx, cancel := context.WithCancelCause(context.Background())
	v.cancel = cancel
	client.Attach(v.figures, cancel)
	w.Group.Run(v.conn, func(conn net.Conn) {
		w.conns.answering.state(conn, http.StateActive) // it may take nothing, too
		defer w.conns.answering.state(conn, http.StateClosed)
		stop := context.AfterFunc(w.Ctx, func() { cancel(session.ErrClosing) })
		client.End(v.run(ctx, tags, at))
		stop()
		release()
	})
	return nil
}

// recordedSince is from when on viewers may rewind in a stream; nil when they may not.
func (w *Server) recordedSince(now time.Time, stream string) *time.Time {
	most := w.For(stream).Rewind
	if w.Recorded == nil || most == 0 {
		return nil
	}
	since, ok := w.Recorded.Files.Since(stream)
	if !ok {
		return nil
	}
	if oldest := now.Add(-most); since.Before(oldest) {
		since = oldest
	}
	since = since.UTC().Truncate(time.Second)
	return &since
}

// getRewind answers a viewer, who need not know the API's token, with recordedSince.
func (w *Server) getRewind(rw http.ResponseWriter, r *http.Request) {
	name, done, ok := w.admitNamed(rw, r)
	if !ok {
		return
	}
	done()
	answerJSON(rw, map[string]any{"recorded_since": w.recordedSince(time.Now(), name)})
}

// A rewinder sends a recording to one viewer. Its goroutine writes; another one reads
// what the viewer says, and sees its end.
type rewinder struct {
	server  *Server
	stream  string
	tape    *archive.Tape
	reader  *rewind.Reader
	conn    net.Conn
	form    live.Form
	prelude []byte
	cancel  context.CancelCauseFunc

	bytes, frames atomic.Int64

	mu     sync.Mutex // of writes
	paused bool
}

func (v *rewinder) figures() session.Figures {
	return session.Figures{Bytes: v.bytes.Load(), Frames: v.frames.Load()}
}

// run sends until there is no more, or ctx is done.
func (v *rewinder) run(ctx context.Context, tags []byte, at time.Duration) error {
	read := make(chan struct{})
	go func() {
		defer close(read)
		if v.form == live.FormWebSocket {
			v.cancel(listenWebSocket(v.conn, v))
			return
		}
		v.cancel(v.listen(time.Now()))
	}()
	defer func() {
		v.conn.Close()
		<-read
	}()
	err := v.write(v.prelude)
	if err == nil {
		err = v.recorded(ctx, tags, at)
	}
	if err == nil {
		err = v.write(v.trailer())
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return session.PeerError(err)
}

// listen reads what a viewer says by HTTP, which has nothing to say, until the connection ends, and returns why.
func (v *rewinder) listen(began time.Time) error {
	var p [512]byte
	for sent := int64(0); ; {
		n, err := v.conn.Read(p[:])
		if sent += int64(n); session.Floods(sent, began) {
			return session.ErrFloods
		}
		if err != nil {
			return session.ErrPeerGone
		}
	}
}

// recorded sends the recording, and then what goes on of the stream.
func (v *rewinder) recorded(ctx context.Context, tags []byte, at time.Duration) error {
	began, quiet := time.Now(), time.Time{}
	for {
		if err := v.send(tags); err != nil {
			return err
		}
		if !waiting.For(at-rewindLead-time.Since(began), ctx.Done()) {
			return context.Cause(ctx)
		}
		var err error
		tags, at, err = v.reader.Next()
		if err == nil {
			quiet = time.Time{}
			continue
		}
		if !errors.Is(err, archive.ErrNothingYet) {
			v.server.Log.Warn("a part of a recording is left out", "stream", v.stream, "error", err)
			if !waiting.For(rewindPoll, ctx.Done()) { // a disk that fails is not asked at once again
				return context.Cause(ctx)
			}
			continue
		}
		// The player has what it was sent before.
		st, there := v.server.Hub.Stream(v.stream)
		switch {
		case v.tape.Writing():
			quiet = time.Time{}
		case !there && quiet.IsZero():
			quiet = time.Now() // the last fragment is written when the stream has ended
		case !there && time.Since(quiet) > rewindOver:
			return nil
		case there && quiet.IsZero():
			quiet = time.Now()
		case there && time.Since(quiet) > rewindOver:
			return v.live(ctx, st)
		}
		if !waiting.For(rewindPoll, ctx.Done()) {
			return context.Cause(ctx)
		}
	}
}

// live sends the stream, which is not recorded.
func (v *rewinder) live(ctx context.Context, st *live.Stream) error {
	r, err := st.NewReader(live.ReaderOptions{})
	if err != nil {
		return nil // it is over
	}
	defer r.Close()
	for {
		tags, _, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p, _ := v.reader.Live(tags)
		if err := v.send(p); err != nil {
			return err
		}
	}
}

// send sends tags, borrowed until it returns.
func (v *rewinder) send(tags []byte) error {
	if len(tags) == 0 {
		return nil
	}
	var head, tail []byte
	switch v.form {
	case live.FormChunked:
		head, tail = fmt.Appendf(nil, "%x\r\n", len(tags)), []byte("\r\n")
	case live.FormWebSocket:
		head = binary.BigEndian.AppendUint64([]byte{0x80 | websocket.BinaryMessage, 127}, uint64(len(tags)))
		if len(tags) <= 125 {
			head = []byte{0x80 | websocket.BinaryMessage, byte(len(tags))}
		} else if len(tags) < 1<<16 {
			head = binary.BigEndian.AppendUint16([]byte{0x80 | websocket.BinaryMessage, 126}, uint16(len(tags)))
		}
	}
	err := v.write(head, tags, tail)
	if err == nil {
		v.bytes.Add(int64(len(tags)))
		for range au.Tags(tags) {
			v.frames.Add(1)
		}
	}
	return err
}

// trailer is what ends the form.
func (v *rewinder) trailer() []byte {
	switch v.form {
	case live.FormChunked:
		return []byte("0\r\n\r\n")
	case live.FormWebSocket:
		return closeFrame(websocket.CloseNormalClosure, "the recording is over")
	}
	return nil
}

// write writes parts that belong together. Each time has to be taken in the time of an
// answer.
func (v *rewinder) write(parts ...[]byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.paused {
		return session.ErrPeerGone // it has said that it closes
	}
	v.conn.SetWriteDeadline(time.Now().Add(v.server.Times.Answer))
	buffers := net.Buffers(parts)
	_, err := buffers.WriteTo(v.conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = live.ErrStalled // the session ends with its words, not with a publisher's
	}
	return err
}

// Pause implements watcher: a viewer that closes is sent no more media.
func (v *rewinder) Pause(on bool) {
	v.mu.Lock()
	v.paused = on
	v.mu.Unlock()
}

// Control implements watcher.
func (v *rewinder) Control(p []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.conn.SetWriteDeadline(time.Now().Add(v.server.Times.Answer))
	_, err := v.conn.Write(p)
	return err
}
