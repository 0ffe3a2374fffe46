package hls

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// Lengths of ids in addresses.
const (
	shortestID = 16
	longestID  = 64
)

// validID accepts ids that are no others when they are escaped.
func validID(id string) bool {
	if len(id) < shortestID || len(id) > longestID {
		return false
	}
	for _, r := range id {
		if (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_' {
			return false
		}
	}
	return true
}

// idOf returns the id of a viewer whose addresses have none: the same for the same
// address, program and token.
func idOf(info session.Info) string {
	sum := sha256.Sum256([]byte(info.IP().String() + "\x00" + info.Agent + "\x00" + info.Query.Get("token") + "\x00" + info.Stream))
	return hex.EncodeToString(sum[:16])
}

// viewer returns the viewer of a request, who is admitted if there is none yet. The
// caller calls leave when the request has been answered.
func (s *Server) viewer(ctx context.Context, id string, info session.Info, o session.PlayOptions) (*viewer, error) {
	key := viewerKey{id, info.IP(), info.Stream}
	if v, err := s.enter(key); v != nil || err != nil {
		return v, err
	}
	done, err := s.admit(ctx, info, o)
	return s.admitted(key, info, done, err)
}

// admitted makes the viewer of an admission, which is ended if there is one already.
func (s *Server) admitted(key viewerKey, info session.Info, done func(), err error) (*viewer, error) {
	if err != nil {
		return nil, err
	}
	q := url.Values{"session": {key.id}}
	if token := info.Query.Get("token"); token != "" {
		q.Set("token", token)
	}
	v := &viewer{server: s, key: key, query: "?" + q.Encode(), began: time.Now(), limit: s.Times.First, uses: map[string]*muxer{}, done: done}
	s.mu.Lock()
	if s.closed || s.viewers[key] != nil {
		// Another request of the same viewer was faster.
		closed := s.closed
		s.mu.Unlock()
		done()
		if closed {
			return nil, session.ErrClosing
		}
		other, err := s.enter(key)
		if other == nil && err == nil {
			err = errGone // it ended meanwhile
		}
		return other, err
	}
	s.viewers[key] = v
	s.idlers.enter(v)
	v.busy.Add(1)
	v.timer = time.AfterFunc(v.limit, v.check)
	v.client = s.Enter(session.RoleViewer, info) // it starts when it asks for more than the multivariant playlist
	s.mu.Unlock()
	v.client.Attach(func() session.Figures {
		return session.Figures{Bytes: v.bytes.Load(), Frames: v.frames.Load()}
	}, func(reason error) { go v.end(reason) }) // a kick may come from within a lock
	return v, nil
}

// enter begins a request of a known viewer; nil when there is none.
func (s *Server) enter(key viewerKey) (*viewer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.viewers[key]
	if v == nil {
		return nil, nil
	}
	v.asked.Store(int64(time.Since(v.began)))
	if v.over {
		return nil, errGone
	}
	v.busy.Add(1)
	return v, nil
}

// Viewers is how many there are, those included that were ended and ask on.
func (s *Server) Viewers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.viewers)
}

// admit asks the gate. A group without a stream of its name needs no stream.
func (s *Server) admit(ctx context.Context, info session.Info, o session.PlayOptions) (done func(), err error) {
	if rows := s.members(info.Stream); len(rows) > 0 && rows[0] != 0 {
		return s.AdmitGroup(ctx, info)
	}
	_, done, err = s.AdmitPlay(ctx, info, o)
	return done, err
}

// leave ends a request. media: it was for more than the multivariant playlist.
func (v *viewer) leave(media bool) {
	v.asked.Store(int64(time.Since(v.began)))
	defer v.busy.Add(-1) // last: without one that took media would give its place
	if media {
		s := v.server
		s.mu.Lock()
		if v.fed.Swap(false) && v.place != nil {
			s.idlers.took(v)
		}
		v.limit = s.Times.Idle
		for _, m := range v.uses {
			v.limit = max(v.limit, m.line.pause())
		}
		s.mu.Unlock()
	}
}

// check ends the viewer when it has asked for nothing for its time.
func (v *viewer) check() {
	s := v.server
	s.mu.Lock()
	left := v.limit - time.Since(v.began.Add(time.Duration(v.asked.Load())))
	if v.busy.Load() > 0 || left > 0 {
		if s.viewers[v.key] == v {
			v.timer.Reset(max(left, v.limit/4, time.Millisecond))
		}
		s.mu.Unlock()
		return
	}
	if v.over { // ended by the server, and asks no more
		delete(s.viewers, v.key)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	v.end(errQuiet)
}

// end ends the viewer, once. One that the server has ended stays known while its player
// asks, so that it is not admitted again at once.
func (v *viewer) end(reason error) {
	v.server.mu.Lock()
	ended := v.stop(reason)
	v.server.mu.Unlock()
	ended()
}

// stop ends the viewer under the server's lock, and returns what reports that, without it.
func (v *viewer) stop(reason error) (ended func()) {
	s := v.server
	if v.over {
		return func() {}
	}
	v.over = true
	s.running.Add(1) // Close waits for its end to be reported
	s.idlers.leave(v)
	for name, m := range v.uses {
		s.release(name, m)
	}
	v.uses = nil
	if p := v.recorded.Swap(nil); p != nil {
		go p.close() // it may be reading
	}
	if errors.Is(reason, errQuiet) || errors.Is(reason, errNothingTaken) || s.closed {
		v.timer.Stop()
		delete(s.viewers, v.key)
	}
	return func() {
		defer s.running.Done()
		v.client.End(reason)
		v.done()
	}
}

// Close ends all viewers and muxers, and waits for them, those included that are ending already.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	var viewers []*viewer
	for _, v := range s.viewers {
		viewers = append(viewers, v)
	}
	s.mu.Unlock()
	for _, v := range viewers {
		v.end(session.ErrClosing)
	}
	s.mu.Lock()
	for name, m := range s.muxers {
		s.remove(name, m)
	}
	s.mu.Unlock()
	s.running.Wait()
}
