package rtmpserver

import (
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/rtmp"
)

// A publication is a publisher's session that can stand still and be given to another
// process. Its goroutine asks stands before each message.
type publication struct {
	session.Standstill
	x     *peer
	req   *rtmp.Request
	state rtmp.ConnState
}

// stands reports whether the session was given away, for which it may stand still before.
// again is called when it goes on after that.
func (p *publication) stands(again func()) (moved bool) {
	if !p.Asked() {
		return false
	}
	moved = p.Stand(func() (err error) {
		p.state, err = p.x.c.State()
		return err
	})
	if !moved {
		again()
	}
	return moved
}

// Pause implements session.Inlet, as do those below.
func (p *publication) Pause() {
	p.Ask()
	p.x.conn.SetReadDeadline(time.Unix(1, 0))
}

func (p *publication) State(m *session.Moved) error {
	m.RTMP, m.App, m.Name = &p.state, p.req.App, p.req.Stream
	return nil
}

func (p *publication) Resume() { p.Answer(false) }
func (p *publication) Leave()  { p.Answer(true) }
