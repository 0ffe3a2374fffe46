package hls

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/archive"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/mp4"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// past answers a request for what was recorded of a stream: the multivariant playlist,
// whose address has the time, or a file.
func (s *Server) past(rw http.ResponseWriter, r *http.Request, info session.Info, a address) error {
	if s.Tapes == nil {
		return fmt.Errorf("%w in the past: nothing is recorded here", session.ErrNotFound)
	}
	id := info.Query.Get("session")
	if !validID(id) {
		id = rand.Text()
		if a.file != "" {
			id = idOf(info)
		}
	}
	begin := a.file == "" || a.file == index
	v, err := s.pastViewer(r, viewerKey{id, info.IP(), info.Stream}, info, begin)
	if err != nil {
		return err
	}
	defer v.leave(a.file != "")
	p, err := s.pastOf(v, info, begin)
	if err != nil {
		return err
	}
	switch a.file {
	case "":
		return v.pastVariant(rw, r, p)
	case index:
		return v.pastPlaylist(rw, r, p)
	}
	return v.pastFile(rw, r, p, a.file)
}

// pastViewer is viewer for a stream that need not be there. begin: a past may begin.
func (s *Server) pastViewer(r *http.Request, key viewerKey, info session.Info, begin bool) (*viewer, error) {
	if v, err := s.enter(key); v != nil || err != nil {
		return v, err
	}
	done, err := s.AdmitGroup(r.Context(), info)
	if err != nil {
		return nil, err
	}
	// Who asks for what is not there must not have a viewer's place for a while.
	if err = errNoFile; begin {
		err = s.hasPast(info)
	}
	if err != nil {
		done()
		return nil, err
	}
	v, err := s.admitted(key, info, done, nil)
	if err == nil {
		v.client.Starts()
	}
	return v, err
}

// hasPast returns why there is nothing of what a request asks for; nil when there is.
func (s *Server) hasPast(info session.Info) error {
	from, err := s.Rewind(info.Stream, info.Query, time.Now())
	if err != nil {
		return err
	}
	tape, err := s.tape(info.Stream, from)
	if err == nil {
		tape.Close()
	}
	return err
}

// tape returns what was recorded of a stream since then. The caller closes it.
func (s *Server) tape(stream string, from time.Time) (*archive.Tape, error) {
	tape, err := s.Tapes.Tape(stream, from)
	if errors.Is(err, archive.ErrNotFound) {
		err = fmt.Errorf("%w: %w", session.ErrNotFound, err)
	}
	return tape, err
}

// pastOf returns the viewer's past. begin: it may begin, or begin again with another time.
func (s *Server) pastOf(v *viewer, info session.Info, begin bool) (*past, error) {
	p := v.recorded.Load()
	if !begin || p != nil && !info.Query.Has(session.Rewinding) {
		if p == nil {
			return nil, errNoFile
		}
		return p, nil
	}
	from, err := s.Rewind(info.Stream, info.Query, v.client.Since.Add(time.Second))
	if err != nil {
		return nil, err
	}
	if p != nil && p.from.Equal(from) {
		return p, nil
	}
	tape, err := s.tape(info.Stream, from)
	if err != nil {
		return nil, err
	}
	film, start, err := tape.Next()
	tape.Close()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", session.ErrNotFound, err)
	}
	now := s.newPast(info.Stream, from, film.File, film.Header, start)
	s.mu.Lock()
	stale := v.over || v.recorded.Load() != p // the viewer has ended, or asks for two at once
	if !stale {
		v.recorded.Store(now)
	}
	s.mu.Unlock()
	if stale {
		now.close()
		return nil, errGone
	}
	if p != nil {
		p.close()
	}
	return now, nil
}

// pastPlaylist answers with the playlist, as soon as it has a segment.
func (v *viewer) pastPlaylist(rw http.ResponseWriter, r *http.Request, p *past) error {
	s := v.server
	_, live := s.Hub.Stream(v.key.stream)
	p.extend(live)
	p.shelf.findGone(p.first)
	text := p.playlist()
	if text == nil {
		leave, err := s.wait(v.key.address)
		if err != nil {
			return err
		}
		defer leave()
		ctx, cancel := s.within(r, s.Times.Start)
		defer cancel()
		again := time.NewTicker(pastEvery)
		defer again.Stop()
		for text == nil {
			select {
			case <-again.C:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			_, live := s.Hub.Stream(v.key.stream)
			p.extend(live)
			text = p.playlist()
		}
	}
	v.sendText(rw, r, text)
	return nil
}

// pastVariant answers with the multivariant playlist: one row, whose address has the time
// as it is.
func (v *viewer) pastVariant(rw http.ResponseWriter, r *http.Request, p *past) error {
	s := v.server
	_, live := s.Hub.Stream(v.key.stream)
	p.extend(live)
	row, err := p.describe()
	if err != nil {
		return err
	}
	row.address = below(v.key.stream, pastRow) + v.query + "&" + url.Values{session.Rewinding: {p.from.UTC().Format(time.RFC3339Nano)}}.Encode()
	rw.Header().Set("Recorded-From", p.start.Wall.UTC().Format(time.RFC3339Nano))
	rw.Header().Set("Access-Control-Expose-Headers", "Recorded-From")
	v.send(rw, r, playlistType, []byte(multivariant([]variant{row})))
	return nil
}

// describe returns the row of a multivariant playlist.
func (p *past) describe() (row variant, err error) {
	tracks, err := mp4.Configs(p.header)
	if err != nil {
		return row, fmt.Errorf("%w: %w", session.ErrNotFound, err)
	}
	var names []string
	for _, t := range tracks {
		name := codecName(t.Config)
		if name == "" {
			return row, fmt.Errorf("%w: HLS does not carry %v, which is in the recording", session.ErrNotFound, t.Config.Codec)
		}
		names = append(names, name)
		if t.Video {
			row.picture = pictureOf(t.Config)
		}
	}
	row.codecs = strings.Join(names, ",")
	bytes, length := int64(0), time.Duration(0)
	parts, _ := p.parts()
	for _, part := range parts {
		for _, s := range part.list {
			bytes, length = bytes+s.size, length+s.duration
			row.most = max(row.most, rateOf(s.size, s.duration))
		}
	}
	if len(parts) == 0 {
		p.shelf.mu.Lock()
		bytes, length = p.head.open.size, p.head.open.duration
		p.shelf.mu.Unlock()
	}
	row.average = rateOf(bytes, length)
	row.most = max(row.most, row.average, 1)
	return row, nil
}

// rateOf is bits a second.
func rateOf(bytes int64, length time.Duration) int64 {
	return int64(math.Ceil(float64(bytes) * 8 / max(length.Seconds(), 0.5)))
}

// pastFile answers with the head of a file, or a part of one.
func (v *viewer) pastFile(rw http.ResponseWriter, r *http.Request, p *past, name string) error {
	header, reel, segment := p.find(name)
	if header != nil {
		v.send(rw, r, mediaType, header)
		return nil
	}
	if reel == nil {
		return errNoFile
	}
	part, f, err := p.media(reel, segment)
	if err != nil {
		return err
	}
	if f != nil {
		defer f.Close()
	}
	leave, err := v.server.Sending(r)
	if err != nil {
		v.server.noPlace(rw, err)
		return nil
	}
	defer leave()
	v.server.begin(rw, mediaType, true)
	if f == nil || r.Header.Get("Range") != "" {
		v.serve(rw, r, part, part.Size())
		return nil
	}
	rw.Header().Set("Content-Length", strconv.FormatInt(part.Size(), 10))
	if r.Method == http.MethodHead {
		return nil
	}
	n, _ := io.CopyN(rw, f, part.Size()) // by the kernel, without TLS
	v.bytes.Add(n)
	if n == part.Size() {
		v.fed.Store(true)
	}
	return nil
}
