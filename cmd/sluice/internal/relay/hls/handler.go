package hls

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// ServeHTTP answers GET and HEAD of playlists and media. The caller has set the fields
// of CORS and answered other methods.
//
// What is found out, which may take time, is one call, and sending it another: a goroutine's
// stack is as large as it has needed at its deepest, for each connection. net/http, which has
// those over TLS and from proxies, takes 3 KiB of it to write a header.
func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	s.Group.Hold() // net/http does not wait for handlers when it is closed, and an answer has references
	defer s.Group.Release()
	if a := s.answer(rw, r); a != nil {
		a.send(rw, r)
	}
}

// answer finds out what to answer with. It returns nil when it has done so itself.
func (s *Server) answer(rw http.ResponseWriter, r *http.Request) *answer {
	info, a, err := s.info(r)
	var o session.PlayOptions
	if err == nil {
		o, err = session.ParsePlayOptions(info.Query)
	}
	var found *answer
	if err == nil {
		// Waiting may take longer than the normal limits; an answer has its own.
		c := http.NewResponseController(rw)
		c.SetReadDeadline(time.Time{})
		c.SetWriteDeadline(time.Time{})
		switch {
		case a.past || a.file == "" && info.Query.Has(session.Rewinding):
			err = s.past(rw, r, info, a)
		case a.file == "" && r.Method == http.MethodHead:
			err = s.head(rw, r, info, o)
		case a.file == "":
			found, err = s.multivariant(r, info, o)
		default:
			found, err = s.file(r, info, o, a)
		}
	}
	if err != nil {
		s.refuse(rw, r, info, err)
	}
	return found
}

// info reads who asks for what.
func (s *Server) info(r *http.Request) (info session.Info, a address, err error) {
	info = session.Info{
		Protocol: session.HLS, Address: r.RemoteAddr, Agent: r.UserAgent(), Query: r.URL.Query(),
		Via: edge.PathOfHeader(r.Header.Values("Via")),
	}
	if r.TLS != nil {
		info.Protocol = session.HLSS
	}
	a, ok := parseAddress(r.URL.Path)
	if !ok || s.Config().HLS == config.HLSOff {
		return info, a, errNoFile
	}
	app, name, _ := strings.Cut(strings.TrimPrefix(a.stream, "/"), "/")
	a.stream, err = session.StreamName(app, name)
	info.Stream = a.stream
	return info, a, err
}

// refuse answers an error. Requests for files are too many to count each as a refused
// session.
func (s *Server) refuse(rw http.ResponseWriter, r *http.Request, info session.Info, err error) {
	var status int
	var reason string
	switch {
	case errors.Is(err, errLate):
		status, reason = http.StatusServiceUnavailable, err.Error()
		rw.Header().Set("Retry-After", "1")
	case errors.Is(err, errAhead):
		status, reason = http.StatusBadRequest, errPosition.Error()
	case errors.Is(err, errGone):
		status, reason = http.StatusForbidden, err.Error()
	case errors.Is(err, errBusy):
		status, reason = http.StatusTooManyRequests, err.Error()
	case errors.Is(err, errNoTracks), errors.Is(err, errStill):
		status, reason = http.StatusNotFound, err.Error()
	case r.Context().Err() != nil:
		return // the client has gone
	case errors.Is(err, context.Canceled):
		status, reason = session.Refusal(session.ErrClosing)
	default:
		if !errors.Is(err, errNoFile) {
			s.Refused(session.RoleViewer, info, err)
		}
		status, reason = session.Refusal(err)
	}
	s.answerError(rw, status, reason)
}

// noPlace answers a request for media for which Sending has no place.
func (s *Server) noPlace(rw http.ResponseWriter, err error) {
	rw.Header().Set("Retry-After", "1")
	status, reason := session.Refusal(err)
	s.answerError(rw, status, reason)
}

func (s *Server) answerError(rw http.ResponseWriter, status int, reason string) {
	http.NewResponseController(rw).SetWriteDeadline(time.Now().Add(s.Host.Times.Answer))
	h := rw.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	rw.WriteHeader(status)
	text, _ := json.Marshal(map[string]string{"error": reason}) // a string
	rw.Write(append(text, '\n'))
}

// head says whether a viewer would be admitted, and is none.
func (s *Server) head(rw http.ResponseWriter, r *http.Request, info session.Info, o session.PlayOptions) error {
	done, err := s.admit(r.Context(), info, o)
	if err != nil {
		return err
	}
	done()
	s.begin(rw, playlistType, false)
	return nil
}

// multivariant answers with the playlist of a stream's rows, for a new viewer.
func (s *Server) multivariant(r *http.Request, info session.Info, o session.PlayOptions) (found *answer, err error) {
	id := info.Query.Get("session")
	if !validID(id) {
		id = rand.Text()
	}
	v, err := s.viewer(r.Context(), id, info, o)
	if err != nil {
		return nil, err
	}
	defer func() { v.leaveWithout(found, false) }()
	leave, err := s.wait(v.key.address)
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := s.within(r, s.Times.Start)
	defer cancel()
	var list []variant
	// All are started before the first is waited for.
	rows := s.members(info.Stream)
	muxers := make([]*muxer, len(rows))
	for i, row := range rows {
		m, failed := s.use(v, s.member(info.Stream, row), o.Wait)
		if failed != nil {
			err = failed
			continue
		}
		muxers[i] = m
	}
	for i, m := range muxers {
		if m == nil {
			continue
		}
		if failed := m.line.wait(ctx, func() bool { return m.line.target > 0 || m.line.over }); failed != nil {
			err = failed
			continue
		}
		row, ok := m.line.describe()
		if !ok && m.line.err != nil {
			err = m.line.err
		}
		m.line.mu.Unlock()
		if ok {
			row.address = rowAddress(info.Stream, rows[i]) + v.query
			list = append(list, row)
		}
	}
	if len(list) == 0 {
		if err == nil {
			err = fmt.Errorf("%w: %s", session.ErrNotFound, info.Stream)
		}
		return nil, err
	}
	return &answer{v: v, kind: playlistType, whole: []byte(multivariant(list))}, nil
}

// file answers with a media playlist or with media.
func (s *Server) file(r *http.Request, info session.Info, o session.PlayOptions, a address) (found *answer, err error) {
	id := info.Query.Get("session")
	if !validID(id) {
		id = idOf(info)
	}
	if a.row > len(s.Config().HLSGroup) {
		return nil, errNoFile
	}
	name := s.member(a.stream, a.row)
	if name == "" {
		return nil, errNoFile
	}
	v, err := s.viewer(r.Context(), id, info, o)
	if err != nil {
		return nil, err
	}
	v.client.Starts()
	defer func() { v.leaveWithout(found, true) }()
	m, err := s.use(v, name, o.Wait)
	if err != nil {
		return nil, err
	}
	if a.file == index {
		return v.playlist(r, m, info)
	}
	kind, number, ok := m.line.parseName(a.file)
	if !ok {
		return nil, errNoFile
	}
	switch kind {
	case 'i':
		return v.initialization(m.line, int(number))
	case 's':
		return v.segment(m.line, number)
	}
	return v.part(r, m.line, number)
}

// playlist answers with a media playlist, as soon as it has what is asked for.
func (v *viewer) playlist(r *http.Request, m *muxer, info session.Info) (*answer, error) {
	at, err := parsePosition(info.Query)
	if err != nil {
		return nil, err
	}
	s, t := v.server, m.line
	t.mu.Lock()
	most := s.Times.Start
	if t.target > 0 {
		most = min(most, 3*time.Duration(t.target)*time.Second)
	}
	ready, err := t.reached(at)
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	ctx := r.Context()
	if !ready {
		leave, err := s.wait(v.key.address)
		if err != nil {
			return nil, err
		}
		defer leave()
		var cancel context.CancelFunc
		ctx, cancel = s.within(r, most)
		defer cancel()
	}
	var ahead error
	err = t.wait(ctx, func() (ok bool) {
		ok, ahead = t.reached(at)
		return ok || ahead != nil
	})
	if err != nil {
		return nil, err
	}
	var text []string
	failed := t.err
	if t.target > 0 && len(t.all) > 0 {
		text, failed = t.playlist(), nil
	}
	t.mu.Unlock()
	switch {
	case ahead != nil:
		return nil, ahead
	case failed != nil:
		return nil, failed
	case text == nil:
		return nil, errNoFile
	}
	return &answer{v: v, kind: playlistType, text: text, media: true}, nil
}

func (v *viewer) initialization(t *timeline, number int) (*answer, error) {
	t.mu.Lock()
	p := t.head(number)
	t.mu.Unlock()
	if p == nil {
		return nil, errNoFile
	}
	return &answer{v: v, kind: mediaType, whole: p, media: true}, nil
}

func (v *viewer) segment(t *timeline, number int64) (*answer, error) {
	t.mu.Lock()
	s := t.find(number)
	if s == nil || !s.done {
		t.mu.Unlock()
		return nil, errNoFile
	}
	held := retain(s.parts)
	if s.broken && forgetsHeads(v.client.Agent) {
		held.before(t.head(s.init))
	}
	t.mu.Unlock()
	return &answer{v: v, kind: mediaType, parts: held, media: true}, nil
}

// forgetsHeads reports whether a player, by its name, begins to read again at a discontinuity without the initialization
// that the playlist names: VLC 3 ends there, unless the segment itself begins with it.
func forgetsHeads(agent string) bool { return strings.Contains(agent, "LibVLC/3.") }

// part answers with a part, which may be the next one.
func (v *viewer) part(r *http.Request, t *timeline, id int64) (*answer, error) {
	t.mu.Lock()
	next := id == t.ids && !t.over
	t.mu.Unlock()
	if next {
		leave, err := v.server.wait(v.key.address)
		if err != nil {
			return nil, err
		}
		defer leave()
		ctx, cancel := v.server.within(r, v.server.Times.Start)
		defer cancel()
		if err := t.wait(ctx, func() bool { return t.ids > id || t.over }); err != nil {
			return nil, err
		}
		t.mu.Unlock()
	}
	t.mu.Lock()
	p := t.findPart(id)
	if p == nil {
		t.mu.Unlock()
		return nil, errNoFile
	}
	held := retain([]*part{p})
	t.mu.Unlock()
	return &answer{v: v, kind: mediaType, parts: held, media: true}, nil
}
