package hls

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/archive"
)

// tapes is what was recorded: archive.Union.
type tapes interface {
	Tape(stream string, from time.Time) (*archive.Tape, error)
	Open(file string) (*os.File, archive.Recording, error)
}

const (
	// leastPast and mostPast are how long segments of a recording are, but for the last
	// one of a file: from one key frame to another after the least, or to a fragment
	// without one before the most.
	leastPast, mostPast = 6 * time.Second, 10 * time.Second
	// firstPast is the least of the first few, so that players can begin.
	firstPast, fewPast = 2 * time.Second, 3
	// maxListed is how much of a recording a playlist begins with. It grows on as time
	// passes.
	maxListed = 6 * time.Hour
	// pastEvery is how often it is looked for more.
	pastEvery = 500 * time.Millisecond
)

// A past is what one viewer sees of the recordings of a stream, from one time on.
type past struct {
	from time.Time // as it was asked for

	mu     sync.Mutex
	tape   *archive.Tape
	since  time.Time // when the viewer came
	looked time.Time
	list   []pastSegment // only appended to
	open   pastSegment   // grows; no film: none
	over   bool
	target time.Duration
	begin  time.Time // of the first segment
	closed bool
	held   *os.File // the file that was asked for last: it may be deleted
	holds  *pastFilm
}

// pastFilm is a file of a past.
type pastFilm struct {
	file   string // in the archive
	name   string // in addresses
	header []byte
	gone   bool
}

// A pastSegment is a part of a file.
type pastSegment struct {
	film     *pastFilm
	at, size int64
	start    time.Duration // in the file
	duration time.Duration
	wall     time.Time
}

// Addresses of a film's header, and of a segment: it begins with its place in the file.
func (f *pastFilm) init() string { return f.name + "-init.mp4" }
func (s *pastSegment) address() string {
	return s.film.name + "-" + strconv.FormatInt(s.at, 10) + ".mp4"
}

// newPast begins with the first fragment of a tape, transferred.
func newPast(tape *archive.Tape, from time.Time) *past {
	return &past{tape: tape, from: from, since: time.Now(), target: mostPast}
}

// extend takes what was recorded since. live: the stream is there, so that more may come.
func (p *past) extend(live bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.over || time.Since(p.looked) < pastEvery {
		return
	}
	p.looked = time.Now()
	until := p.from.Add(maxListed + time.Since(p.since))
	for !p.open.wall.After(until) {
		writing := p.tape.Writing()
		film, one, err := p.tape.Next()
		if err != nil {
			if !writing { // the file is whole
				p.finish()
				p.over = !live
			}
			return
		}
		if p.open.film != nil && p.open.film.file != film.File {
			p.finish()
		}
		least := leastPast
		if len(p.list) < fewPast {
			least = firstPast
		}
		length := one.Start - p.open.start
		if p.open.film != nil && (one.Key && length >= least || length+one.Length > mostPast) {
			p.open.duration = length
			p.finish()
		}
		if p.open.film == nil {
			p.open = pastSegment{film: p.filmOf(film), at: one.At, start: one.Start, wall: one.Wall}
			if p.begin.IsZero() {
				p.begin = one.Wall
			}
		}
		p.open.size += one.Size
		p.open.duration = one.Start + one.Length - p.open.start
	}
}

// filmOf returns the film of the latest segment if it is of that file.
func (p *past) filmOf(f *archive.Film) *pastFilm {
	if n := len(p.list); n > 0 && p.list[n-1].film.file == f.File {
		return p.list[n-1].film
	}
	name := strings.TrimSuffix(path.Base(f.File), ".mp4")
	// What is behind the stream's name: the time, and perhaps a number.
	if i := len(name); i > stampLen {
		at := strings.LastIndexByte(name[:i-stampLen+9], '-')
		name = name[at+1:]
	}
	return &pastFilm{file: f.File, name: name, header: f.Header}
}

// stampLen is the length of the time in the name of a file.
const stampLen = len("20060102-150405")

// finish ends the segment that grows.
func (p *past) finish() {
	if p.open.film != nil {
		p.list = append(p.list, p.open)
		p.target = max(p.target, p.open.duration.Round(time.Second))
	}
	p.open = pastSegment{}
}

// findGone looks which of the oldest files were deleted. Who is in one has it to its end.
func (p *past) findGone(exists func(file string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var before *pastFilm
	for i := range p.list {
		f := p.list[i].film
		if f == before || f.gone {
			continue
		}
		if before = f; f == p.holds {
			continue
		}
		if exists(f.file) {
			return // they are deleted in their order
		}
		f.gone = true
	}
}

// playlist returns the text, cut where a query belongs behind an address (rfc8216bis,
// section 4.4.3.5). Nothing is listed yet: nil.
func (p *past) playlist() (pieces []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.list) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-VERSION:8\n#EXT-X-TARGETDURATION:%d\n#EXT-X-PLAYLIST-TYPE:EVENT\n#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-START:TIME-OFFSET=0,PRECISE=YES\n",
		int(p.target/time.Second))
	var film *pastFilm
	for i := range p.list {
		s := &p.list[i]
		if s.film != film {
			if film != nil {
				b.WriteString("#EXT-X-DISCONTINUITY\n")
			}
			film = s.film
			b.WriteString(`#EXT-X-MAP:URI="` + film.init())
			pieces = append(pieces, b.String())
			b.Reset()
			b.WriteString("\"\n#EXT-X-PROGRAM-DATE-TIME:" + s.wall.UTC().Format("2006-01-02T15:04:05.000Z") + "\n")
		}
		if film.gone {
			b.WriteString("#EXT-X-GAP\n")
		}
		b.WriteString("#EXTINF:" + seconds(s.duration.Milliseconds()) + ",\n" + s.address())
		pieces = append(pieces, b.String())
		b.Reset()
		b.WriteString("\n")
	}
	if p.over {
		b.WriteString("#EXT-X-ENDLIST\n")
	}
	return append(pieces, b.String())
}

// find returns the header or the segment that has an address.
func (p *past) find(address string) (header []byte, s *pastSegment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name, ok := strings.CutSuffix(address, ".mp4")
	dash := strings.LastIndexByte(name, '-')
	if !ok || dash < 0 {
		return nil, nil
	}
	name, place := name[:dash], name[dash+1:]
	at, err := strconv.ParseInt(place, 10, 64)
	for i := range p.list {
		switch one := p.list[i]; {
		case one.film.name != name:
		case place == "init":
			return one.film.header, nil
		case err == nil && one.at == at:
			return nil, &one
		}
	}
	return nil, nil
}

// media returns the bytes of a segment, and the file itself at its beginning, which the
// caller closes, unless the file was deleted.
func (p *past) media(s *pastSegment, open func(file string) (*os.File, error)) (*io.SectionReader, *os.File, error) {
	f, err := open(s.film.file)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		if err == nil {
			f.Close()
		}
		return nil, nil, errGone
	case err != nil && p.holds == s.film:
		return io.NewSectionReader(p.held, s.at, s.size), nil, nil
	case err != nil:
		s.film.gone = true
		return nil, nil, errNoFile
	}
	if p.holds != s.film {
		held, err := open(s.film.file)
		if err == nil {
			if p.held != nil {
				p.held.Close()
			}
			p.held, p.holds = held, s.film
		}
	}
	if _, err := f.Seek(s.at, io.SeekStart); err != nil {
		f.Close()
		return nil, nil, errors.Join(errNoFile, err)
	}
	return io.NewSectionReader(f, s.at, s.size), f, nil
}

// close closes the files.
func (p *past) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	p.tape.Close()
	if p.held != nil {
		p.held.Close()
	}
}
