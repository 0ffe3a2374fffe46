package streamdoctor

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
)

const (
	// every is how often a stream is looked at.
	every = 50 * time.Millisecond
	// viewersEvery is at how many of these looks viewers are looked at too, and
	// mostViewers at how many of them: each costs a system call.
	viewersEvery = 10
	mostViewers  = 500
	// mostAsked bounds how many streams are looked at at a time.
	mostAsked = 32
)

// ErrBusy means that too many streams are being looked at.
var ErrBusy = errors.New("streamdoctor: too many streams are being looked at; ask again in a few seconds")

// A Doctor looks at streams. It is safe for concurrent use.
type Doctor struct {
	host *session.Host
	mu   sync.Mutex
	on   map[*live.Stream]*visit
}

// visit is a look that goes on, for all who have asked meanwhile.
type visit struct {
	over     chan struct{} // closed when the two below are there
	found    []Finding
	measured Measured
}

// New returns a doctor for the streams of a host.
func New(h *session.Host) *Doctor { return &Doctor{host: h, on: map[*live.Stream]*visit{}} }

// Ask looks at a stream for Enough, and returns what it finds, or ErrBusy, or the cause
// of ctx when that is done first.
func (d *Doctor) Ask(ctx context.Context, st *live.Stream) ([]Finding, Measured, error) {
	d.mu.Lock()
	v := d.on[st]
	if v == nil {
		if len(d.on) >= mostAsked {
			d.mu.Unlock()
			return nil, Measured{}, ErrBusy
		}
		v = &visit{over: make(chan struct{})}
		d.on[st] = v
		go func() {
			defer close(v.over)
			v.found, v.measured = Judge(d.look(st))
			d.mu.Lock()
			delete(d.on, st)
			d.mu.Unlock()
		}()
	}
	d.mu.Unlock()
	select {
	case <-v.over:
		return v.found, v.measured, nil
	case <-ctx.Done():
		return nil, Measured{}, context.Cause(ctx)
	}
}

// look looks at a stream until it has seen enough, the stream is over, or the server is
// shutting down.
func (d *Doctor) look(st *live.Stream) Seen {
	s := Seen{Processors: runtime.GOMAXPROCS(0)}
	tick := time.NewTicker(every)
	defer tick.Stop()
	began := time.Now()
	viewers := d.viewers(st)
	s.Looks = append(s.Looks, d.once(st, 0, viewers))
	if p := d.publisher(st); p != nil {
		p.Probe() // what it acknowledges shows that its line is there
	}
	for before := began; ; {
		select {
		case <-tick.C:
			now := time.Now()
			over := now.Sub(began) >= Enough
			at := viewers
			if !over && len(s.Looks)%viewersEvery != 0 {
				at = nil
			}
			s.Looks = append(s.Looks, d.once(st, now.Sub(before)-every, at))
			if before = now; over {
				s.MemoryShort = d.host.Room()
				return s
			}
		case <-st.Done():
			return s
		case <-d.host.Ctx.Done():
			return s
		}
	}
}

// publisher is the session that publishes a stream, or nil.
func (d *Doctor) publisher(st *live.Stream) (found *session.Client) {
	if st.Publisher() == nil {
		return nil
	}
	for _, c := range d.host.Register.Of(st.Name()) {
		// An older one is being replaced.
		if c.Role == session.RolePublisher && (found == nil || c.Since.After(found.Since)) {
			found = c
		}
	}
	return found
}

// viewers are those that are looked at.
func (d *Doctor) viewers(st *live.Stream) []*session.Client {
	list := slices.DeleteFunc(d.host.Register.Of(st.Name()), func(c *session.Client) bool { return c.Role != session.RoleViewer })
	return list[:min(len(list), mostViewers)]
}

// once looks at a stream, and at these of its viewers.
func (d *Doctor) once(st *live.Stream, late time.Duration, viewers []*session.Client) Look {
	f := st.Stats()
	l := Look{At: time.Now(), Late: late, CPU: ProcessTime(), Frames: f.FramesIn, Media: f.LastTime}
	if c := d.publisher(st); c != nil {
		line := c.Line()
		l.Publisher = c.ID
		l.Line = Line{line.Known, line.Received, line.Reorders, line.Unacked, line.Parts, line.Partial}
	}
	if viewers == nil {
		return l
	}
	l.Viewers = map[string]Viewer{}
	for _, c := range viewers {
		g := c.Figures()
		l.Viewers[c.ID] = Viewer{g.Lag, g.Merge, g.Jumps, g.Dropped}
	}
	return l
}
