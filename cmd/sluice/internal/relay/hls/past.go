package hls

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/mp4"
)

const (
	// firstPast is the least of the first few segments, so that players can begin.
	firstPast, fewPast = 2 * time.Second, 3
	// maxListed is how much of a recording a playlist begins with. It grows on as time
	// passes.
	maxListed = 6 * time.Hour
)

// A past is what one viewer sees of the recordings of a stream, from one time on: some segments
// of its own, and then those of the stream's shelf, under whose lock it is.
type past struct {
	shelf  *shelf
	from   time.Time // as it was asked for
	since  time.Time // when the viewer came
	first  *reel
	start  mp4.Fragment // of the first reel
	header []byte       // its

	looked time.Time
	head   cutting // from start to where a segment of the shelf begins
	join   int     // which that is; negative: not known yet
	last   *reel   // when it is over; nil: it goes on
	target time.Duration
	closed bool
	holds  *reel // the one that was asked for last
}

// newPast begins at a fragment of a file, which has that header. The caller closes it.
func (s *Server) newPast(stream string, from time.Time, file string, header []byte, start mp4.Fragment) *past {
	s.mu.Lock()
	of := s.shelves[stream]
	if of == nil {
		of = &shelf{server: s, stream: stream, reels: map[string]*reel{}}
		s.shelves[stream] = of
	}
	of.users++
	s.mu.Unlock()
	of.mu.Lock()
	defer of.mu.Unlock()
	return &past{shelf: of, from: from, since: time.Now(), first: of.take(file), start: start, header: header, join: -1, target: mostPast}
}

// most is how much is listed.
func (p *past) most() time.Duration { return maxListed + time.Since(p.since) }

// extend takes what was recorded since. live: the stream is there, so that more may come.
func (p *past) extend(live bool) {
	s := p.shelf
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.closed || p.last != nil || time.Since(p.looked) < pastEvery {
		return
	}
	p.looked = time.Now()
	s.read(p.first)
	p.lead()
	var more []string
	left := p.most() + p.start.Start
	for r := p.first; ; {
		s.read(r)
		if left -= lengthOf(r.cut.list); !r.whole || left < 0 {
			return
		}
		next := s.follow(r, &more)
		if next == nil {
			if !live && p.join >= 0 && time.Since(r.asked) < pastEvery {
				p.last = r
			}
			return
		}
		r = next
	}
}

// lead makes the segments before those of the shelf. The lock is held.
func (p *past) lead() {
	r := p.first
	if p.join >= 0 || r.index == nil && !r.whole {
		return
	}
	// The shelf's segments begin where the first few are over, or later.
	most := p.start.Start + fewPast*firstPast
	join := slices.IndexFunc(r.cut.list, func(s pastSegment) bool { return s.start >= most })
	var to int64
	switch {
	case join >= 0:
		to = r.cut.list[join].at
	case r.cut.open.size > 0 && r.cut.open.start >= most:
		join, to = len(r.cut.list), r.cut.open.at
	case r.whole:
		join = len(r.cut.list)
	}
	if r.index != nil && to == 0 {
		to = r.index.End
	}
	f, _, err := p.shelf.server.Tapes.Open(r.file)
	if isGone(err) {
		p.head.finish()
		p.join = max(join, len(r.cut.list))
	}
	if err != nil {
		return
	}
	defer f.Close()
	p.head = cutting{}
	if r.index != nil {
		x := r.index.From(p.start.At)
		_ = x.Extend(f, to) // what can be read counts, as in the shelf
		for _, one := range x.Fragments {
			least := leastPast
			if len(p.head.list) < fewPast {
				least = firstPast
			}
			p.head.take(one, least)
		}
	}
	if join >= 0 {
		p.head.finish()
		p.join = join
	}
}

// A pastPart is a row of a viewer's segments, of one reel. The list is read-only.
type pastPart struct {
	reel   *reel
	header []byte
	gone   bool
	list   []pastSegment
}

// parts returns the segments, and whether there will be no more.
func (p *past) parts() (parts []pastPart, over bool) {
	p.shelf.mu.Lock()
	defer p.shelf.mu.Unlock()
	left := p.most()
	add := func(r *reel, header []byte, list []pastSegment) (all bool) {
		n := 0
		for ; n < len(list) && left > 0; n++ {
			left -= list[n].duration
			p.target = max(p.target, list[n].duration.Round(time.Second))
		}
		if n > 0 {
			parts = append(parts, pastPart{r, header, r.gone, list[:n]})
		}
		return n == len(list)
	}
	if !add(p.first, p.header, p.head.list) || p.join < 0 || !add(p.first, p.header, p.first.cut.list[p.join:]) {
		return parts, false
	}
	for r := p.first; r != p.last && r.next != nil; {
		r = r.next
		if r.index != nil && !add(r, r.index.Header, r.cut.list) {
			return parts, false
		}
	}
	return parts, p.last != nil
}

// playlist returns the text, cut where a query belongs behind an address (rfc8216bis,
// section 4.4.3.5). Nothing is listed yet: nil.
func (p *past) playlist() (pieces []string) {
	parts, over := p.parts()
	if len(parts) == 0 {
		return nil
	}
	p.shelf.mu.Lock()
	target := p.target
	p.shelf.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-VERSION:8\n#EXT-X-TARGETDURATION:%d\n#EXT-X-PLAYLIST-TYPE:EVENT\n#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-START:TIME-OFFSET=0,PRECISE=YES\n",
		int(target/time.Second))
	var r *reel
	for _, part := range parts {
		if part.reel != r {
			if r != nil {
				b.WriteString("#EXT-X-DISCONTINUITY\n")
			}
			r = part.reel
			b.WriteString(`#EXT-X-MAP:URI="` + r.init())
			pieces = append(pieces, b.String())
			b.Reset()
			b.WriteString("\"\n#EXT-X-PROGRAM-DATE-TIME:" + part.list[0].wall.UTC().Format("2006-01-02T15:04:05.000Z") + "\n")
		}
		for _, s := range part.list {
			if part.gone {
				b.WriteString("#EXT-X-GAP\n")
			}
			b.WriteString("#EXTINF:" + seconds(s.duration.Milliseconds()) + ",\n" + r.name + "-" + strconv.FormatInt(s.at, 10) + ".mp4")
			pieces = append(pieces, b.String())
			b.Reset()
			b.WriteString("\n")
		}
	}
	if over {
		b.WriteString("#EXT-X-ENDLIST\n")
	}
	return append(pieces, b.String())
}

// find returns the header that has an address, or the segment and its reel.
func (p *past) find(address string) (header []byte, r *reel, s pastSegment) {
	name, ok := strings.CutSuffix(address, ".mp4")
	dash := strings.LastIndexByte(name, '-')
	if !ok || dash < 0 {
		return nil, nil, s
	}
	name, place := name[:dash], name[dash+1:]
	at, err := strconv.ParseInt(place, 10, 64)
	parts, _ := p.parts()
	for _, part := range parts {
		if part.reel.name != name {
			continue
		}
		if place == "init" {
			return part.header, nil, s
		}
		if s, ok := findSegment(part.list, at); ok && err == nil {
			return nil, part.reel, s
		}
	}
	return nil, nil, s
}

// media returns the bytes of a segment, and the file itself at its beginning, which the
// caller closes, unless the file was deleted.
func (p *past) media(r *reel, s pastSegment) (*io.SectionReader, *os.File, error) {
	f, _, err := p.shelf.server.Tapes.Open(r.file)
	p.shelf.mu.Lock()
	defer p.shelf.mu.Unlock()
	if p.closed {
		if err == nil {
			f.Close()
		}
		return nil, nil, errGone
	}
	if err == nil || r.held != nil {
		p.shelf.hold(r, p.holds)
		p.holds = r
	}
	if err != nil {
		if r.held != nil {
			return io.NewSectionReader(r.held, s.at, s.size), nil, nil
		}
		r.gone = r.gone || isGone(err)
		return nil, nil, errNoFile
	}
	if _, err := f.Seek(s.at, io.SeekStart); err != nil {
		f.Close()
		return nil, nil, errors.Join(errNoFile, err)
	}
	return io.NewSectionReader(f, s.at, s.size), f, nil
}

// close ends the use of what is shared. The server's lock is not held.
func (p *past) close() {
	s := p.shelf
	s.mu.Lock()
	was := p.closed
	if p.closed = true; !was {
		s.hold(nil, p.holds)
		p.holds = nil
		s.drop(p.first)
	}
	s.mu.Unlock()
	if was {
		return
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(s.server.shelves, s.stream)
	}
}
