package srtserver

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	srt "github.com/datarhei/gosrt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
)

// play admits a request as a viewer and serves its connection until that ends.
func (s *Server) play(req srt.ConnRequest, info session.Info) {
	o, err := session.ParsePlayOptions(info.Query)
	if err != nil {
		s.refuse(req, session.RoleViewer, info, err)
		return
	}
	ctx, cancel := s.admission()
	source, done, err := s.AdmitPlay(ctx, info, o)
	cancel()
	if err != nil {
		s.refuse(req, session.RoleViewer, info, err)
		return
	}
	conn, err := req.Accept()
	if err != nil {
		done()
		s.Refused(session.RoleViewer, info, err)
		return
	}
	feed, missing, err := s.feed(conn, source)
	if len(missing) > 0 {
		s.Log.Info("codecs without a form in SRT's transport stream are left out", "stream", info.Stream, "address", info.Address, "codecs", fmt.Sprint(missing))
	}
	if err != nil {
		done()
		conn.Close()
		s.Refused(session.RoleViewer, info, fmt.Errorf("%w: %s: %w", session.ErrNotFound, info.Stream, err))
		return
	}
	p := &paced{conn: conn, linger: latency(conn) + 300*time.Millisecond, closed: make(chan struct{})}
	v, err := s.Watch(p, feed.Stream(), info, o, session.Viewing{Form: live.FormRaw, Done: func() {
		feed.Release()
		done()
	}})
	if err != nil {
		return
	}
	// A viewer sends nothing: this waits for its end.
	var room [1500]byte
	for {
		if _, err := conn.Read(room[:]); err != nil {
			break
		}
	}
	v.Close(session.ErrPeerGone) // nothing, when it has ended already
	<-v.Done()
}

// latency is for how long the peer keeps packets before it shows them.
func latency(conn srt.Conn) time.Duration {
	var stats srt.Statistics
	conn.Stats(&stats)
	return min(time.Duration(stats.Instantaneous.MsSendTsbPdDelay)*time.Millisecond, maxLatency)
}

// feed finds out a stream's tracks and returns its packets. A peer that leaves meanwhile
// is noticed by the server's end only, seconds later.
func (s *Server) feed(conn srt.Conn, source *live.Stream) (*transport, []fmt.Stringer, error) {
	ctx, cancel := context.WithCancel(s.Ctx)
	defer cancel()
	return s.feeds.open(ctx, source)
}

const (
	// payload is what one packet of the protocol carries: seven of a transport stream.
	payload = 7 * 188
	// burst is sent at once, then comes a pause: a viewer begins with a group of
	// pictures, and the library refuses what its queue of 1,024 packets cannot take.
	burst      = 32 << 10
	burstPause = 2 * time.Millisecond
)

// paced is a viewer's connection for the live.Writer, which wants to write any number of
// bytes.
type paced struct {
	conn   srt.Conn
	linger time.Duration
	rest   []byte // less than a packet of a transport stream
	sent   int    // bytes since the latest pause
	once   sync.Once
	closed chan struct{}
}

// Write takes bytes, borrowed until it returns. It sends whole packets of the transport
// stream, and keeps what is left.
func (p *paced) Write(b []byte) (int, error) {
	n := len(b)
	const packet = 188
	if len(p.rest) > 0 {
		k := min(packet-len(p.rest), len(b))
		p.rest = append(p.rest, b[:k]...)
		if b = b[k:]; len(p.rest) < packet {
			return n, nil
		}
		if err := p.send(p.rest); err != nil {
			return 0, err
		}
		p.rest = p.rest[:0]
	}
	for len(b) >= packet {
		k := min(payload, len(b)/packet*packet)
		if err := p.send(b[:k]); err != nil {
			return 0, err
		}
		b = b[k:]
	}
	p.rest = append(p.rest, b...)
	return n, nil
}

func (p *paced) send(b []byte) error {
	select {
	case <-p.closed:
		return net.ErrClosed
	default:
	}
	if _, err := p.conn.Write(b); err != nil {
		return io.ErrClosedPipe
	}
	if p.sent += len(b); p.sent >= burst {
		p.sent = 0
		pause := time.NewTimer(burstPause)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-p.closed:
		}
	}
	return nil
}

// Close ends the connection, once lost packets could have been sent again: what the peer
// has not shown by then it throws away.
func (p *paced) Close() error {
	p.once.Do(func() {
		close(p.closed)
		time.AfterFunc(p.linger, func() { p.conn.Close() })
	})
	return nil
}

// Read waits for Close: what the peer sends is not looked at.
func (p *paced) Read([]byte) (int, error) {
	<-p.closed
	return 0, io.EOF
}

func (p *paced) LocalAddr() net.Addr              { return p.conn.LocalAddr() }
func (p *paced) RemoteAddr() net.Addr             { return p.conn.RemoteAddr() }
func (p *paced) SetDeadline(time.Time) error      { return nil }
func (p *paced) SetReadDeadline(time.Time) error  { return nil }
func (p *paced) SetWriteDeadline(time.Time) error { return nil }
