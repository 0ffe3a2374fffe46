package hls

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/archive"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hlstest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/internal/flvclip"
)

// wholeClip gives a recorder the clip at once.
type wholeClip struct{ done bool }

func (s *wholeClip) Next(context.Context) ([]byte, int, error) {
	if s.done {
		return nil, 0, io.EOF
	}
	s.done = true
	return flvclip.File, 0, nil
}

// pastServer is a server with an archive.
func pastServer(a *archive.Archive) *Server {
	s := New(&session.Host{}, 0, 0)
	s.Tapes = archive.Union(func() []*archive.Archive { return []*archive.Archive{a} })
	return s
}

// pastIn goes back in live/s.
func pastIn(t *testing.T, s *Server, from time.Time) *past {
	t.Helper()
	tape, err := s.Tapes.Tape("live/s", from)
	if err != nil {
		t.Fatal(err)
	}
	defer tape.Close()
	film, start, err := tape.Next()
	if err != nil {
		t.Fatal(err)
	}
	return s.newPast("live/s", from, film.File, film.Header, start)
}

func parsedPast(t *testing.T, p *past) *hlstest.Playlist {
	t.Helper()
	text := strings.Join(p.playlist(), "?session=1")
	list, err := hlstest.Parse(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return list
}

// Several files are one playlist with discontinuities. A file that is deleted is a gap in
// it, but for a viewer who is in it; nothing else changes.
func TestPastOfSeveralFiles(t *testing.T) {
	r, err := record.New(record.Options{Dir: t.TempDir(), Format: record.MP4, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a := archive.New(r.Root, r.Open)
	for range 3 {
		if err := r.Record(context.Background(), "live/s", &wholeClip{}); err != nil {
			t.Fatal(err)
		}
	}
	p := pastIn(t, pastServer(a), time.Now().Add(-20*time.Hour))
	defer p.close()
	p.extend(true)
	first := parsedPast(t, p)
	breaks, length := 0, 0.0
	for i, s := range first.Segments {
		if s.Discontinuity {
			breaks++
		}
		if s.Gap || s.Duration > 10 || s.Duration < 1 {
			t.Errorf("segment %d: %+v", i, s)
		}
		length += s.Duration
	}
	if first.End || !first.Event || breaks != 2 || length < 28 || length > 32 {
		t.Errorf("%d discontinuities, %.3f s, ended: %t", breaks, length, first.End)
	}
	// Every segment is a part of its file.
	read := func(address string) ([]byte, error) {
		_, r, s := p.find(strings.TrimSuffix(address, "?session=1"))
		if r == nil {
			t.Fatalf("%s is not there", address)
		}
		part, f, err := p.media(r, s)
		if err != nil {
			return nil, err
		}
		if f != nil {
			defer f.Close()
		}
		return io.ReadAll(part)
	}
	for _, s := range first.Segments {
		header, _, _ := p.find(strings.TrimSuffix(s.Map, "?session=1"))
		media, err := read(s.URI)
		if err != nil || !bytes.HasPrefix(header[4:], []byte("ftyp")) || !bytes.HasPrefix(media[4:], []byte("prft")) {
			t.Fatalf("%s: %v", s.URI, err)
		}
	}
	// The viewer is in the second file when retention deletes the first two.
	var second string
	for _, s := range first.Segments {
		if s.Map != first.Segments[0].Map {
			second = s.URI
			break
		}
	}
	before, err := read(second)
	if err != nil {
		t.Fatal(err)
	}
	files, _, err := a.List("live/s", 10)
	if err != nil || len(files) != 3 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	parts, _ := p.parts()
	for _, f := range files {
		if f.File != parts[len(parts)-1].reel.file {
			if err := a.Delete(f.File); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.shelf.findGone(p.first)
	now := parsedPast(t, p)
	if err := now.Follows(first); err != nil {
		t.Error(err)
	}
	for i, s := range now.Segments {
		if gone := s.Map == now.Segments[0].Map; s.Gap != gone {
			t.Errorf("segment %d is a gap: %t", i, s.Gap)
		}
	}
	if after, err := read(second); err != nil || !bytes.Equal(after, before) {
		t.Errorf("%d bytes of the file that the viewer is in: %v", len(after), err)
	}
	if _, err := read(now.Segments[0].URI); err == nil {
		t.Error("a file that was deleted is read")
	}
	if header, r, _ := p.find("../../etc-init.mp4"); header != nil || r != nil {
		t.Error("an address of nothing is found")
	}
}
