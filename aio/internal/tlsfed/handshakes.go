package tlsfed

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// DefaultSilence is used when Handshakes.Silence is 0.
const DefaultSilence = time.Second

// Handshakes runs handshakes, each in a goroutine, and a limited number at once. The
// others wait for one to end, see waiting. While some wait, a handshake
// that has waited for its peer longer than Silence gives way: it fails, and its place is
// free. Without handshakes there is no goroutine and no timer. Its methods may be called
// from any goroutine.
type Handshakes struct {
	// Limit is how many handshakes are under way at once; at least 1.
	Limit int
	// Silence is how long a handshake may wait for its peer, all waits together, when
	// another one needs its place; DefaultSilence unless set.
	Silence time.Duration

	mu      sync.Mutex // taken with a session's mu held, never the other way round
	running map[*Session]*progress
	waiting waiting
	timer   *time.Timer // of relieve; nil while none waits
}

// progress is how long a handshake has waited for its peer.
type progress struct {
	waited time.Duration // before
	since  time.Time     // zero while it does not wait
	leaves bool          // it gives way
}

// silence is how long the peer has been waited for at the given time; not more than 0
// while it is not waited for.
func (p *progress) silence(now time.Time) time.Duration {
	if p.since.IsZero() {
		return 0
	}
	return p.waited + now.Sub(p.since)
}

// start runs the handshake of s, now or later.
func (h *Handshakes) start(s *Session) {
	host := hostOf(s.out.RemoteAddr())
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.running) >= h.Limit {
		h.waiting.add(s, host)
		h.arm(time.Now())
		return
	}
	if h.running == nil {
		h.running = make(map[*Session]*progress)
	}
	h.running[s] = new(progress)
	go h.run(s)
}

// run does the handshake of s, and then of those that wait.
func (h *Handshakes) run(s *Session) {
	defer func() {
		if p := recover(); p != nil {
			panic(p) // it ends the program
		}
		if s != nil { // runtime.Goexit, in a callback
			s.shaken(op.ErrGoexit)
			if s = h.following(s); s != nil {
				go h.run(s)
			}
		}
	}()
	for s != nil {
		s.handshake()
		s = h.following(s)
	}
}

// waits says that the handshake of s waits for its peer from now on, or no longer.
func (h *Handshakes) waits(s *Session, begins bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.running[s]
	if now := time.Now(); begins {
		p.since = now
		if h.timer == nil {
			h.arm(now)
		}
	} else {
		p.waited, p.since = p.silence(now), time.Time{}
	}
}

// following gives the place of ended to a session that waits, and returns that, or nil when
// the goroutine should end.
func (h *Handshakes) following(ended *Session) *Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.running, ended)
	s := h.waiting.next()
	if s != nil {
		h.running[s] = new(progress)
	}
	return s
}

// leave says that s needs no place any more, if it waits for one.
func (h *Handshakes) leave(s *Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting.remove(s)
}

// arm starts the timer for the handshake that has waited longest for its peer, if other
// handshakes need its place. Called with mu.
func (h *Handshakes) arm(now time.Time) {
	if h.timer != nil || len(h.waiting.sessions) == 0 {
		return
	}
	var longest time.Duration
	for _, p := range h.running {
		longest = max(longest, p.silence(now))
	}
	// No more often than so: each round looks at all of them.
	wait := max(h.silence()-longest, h.silence()/16)
	h.timer = time.AfterFunc(wait, h.relieve)
}

func (h *Handshakes) silence() time.Duration {
	if h.Silence == 0 {
		return DefaultSilence
	}
	return h.Silence
}

// relieve ends as many handshakes as others wait, those with the longest silence first.
func (h *Handshakes) relieve() {
	for _, s := range h.silent() {
		s.End(fmt.Errorf("%w: a handshake without a word for %v, while others waited for one of the %d places",
			op.ErrDeadline, h.silence(), h.Limit))
	}
}

// silent returns the handshakes that have to give way.
func (h *Handshakes) silent() []*Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	var silent []*Session
	needed := len(h.waiting.sessions)
	for s, p := range h.running {
		switch {
		case p.leaves:
			needed-- // its place will be free
		case p.silence(now) >= h.silence():
			silent = append(silent, s)
		}
	}
	slices.SortFunc(silent, func(a, b *Session) int {
		return cmp.Compare(h.running[b].silence(now), h.running[a].silence(now))
	})
	silent = silent[:min(len(silent), max(needed, 0))]
	for _, s := range silent {
		h.running[s].leaves = true
	}
	h.timer = nil
	h.arm(now)
	return silent
}
