// Package hlstest reads and checks playlists of HLS for tests, by the rules of
// rfc8216bis. It shares no code with what makes them.
package hlstest

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Part is a line EXT-X-PART.
type Part struct {
	URI         string
	Duration    float64
	Independent bool
}

// A Segment of a media playlist. Without a URI it is the one that grows.
type Segment struct {
	URI           string
	Duration      float64
	Map           string
	Discontinuity bool
	Gap           bool
	Date          time.Time // of its beginning; zero: not said
	Parts         []Part
}

// A Playlist is a media playlist.
type Playlist struct {
	Version, Target         int
	PartTarget, HoldBack    float64
	CanBlock                bool
	Sequence, Discontinuity int
	Segments                []Segment
	Hint                    string
	End                     bool
	Event                   bool
}

// attributes reads NAME=VALUE,NAME="VALUE".
func attributes(text string) (map[string]string, error) {
	list := map[string]string{}
	for text != "" {
		name, rest, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("attribute %q", text)
		}
		var value string
		if strings.HasPrefix(rest, `"`) {
			value, rest, ok = strings.Cut(rest[1:], `"`)
			if !ok || rest != "" && rest[0] != ',' {
				return nil, fmt.Errorf("attribute %s is not quoted to its end", name)
			}
			rest = strings.TrimPrefix(rest, ",")
		} else {
			value, rest, _ = strings.Cut(rest, ",")
		}
		if _, twice := list[name]; twice {
			return nil, fmt.Errorf("attribute %s is there twice", name)
		}
		list[name], text = value, rest
	}
	return list, nil
}

// Parse reads a media playlist and checks what can be said of one alone.
func Parse(text string) (*Playlist, error) {
	p := &Playlist{Target: -1, Sequence: -1}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if lines[0] != "#EXTM3U" {
		return nil, fmt.Errorf("the first line is %q", lines[0])
	}
	r := &reader{p: p}
	for i, line := range lines[1:] {
		if err := r.line(line); err != nil {
			return nil, fmt.Errorf("line %d, %q: %w", i+2, line, err)
		}
	}
	if r.inf {
		return nil, errors.New("EXTINF without an address")
	}
	if len(r.next.Parts) > 0 {
		p.Segments = append(p.Segments, r.next)
	}
	return p, p.check()
}

type reader struct {
	p    *Playlist
	next Segment
	inf  bool
}

func (r *reader) line(line string) error {
	p := r.p
	if p.End {
		return errors.New("behind EXT-X-ENDLIST")
	}
	if !strings.HasPrefix(line, "#") {
		if !r.inf || line == "" {
			return errors.New("an address without EXTINF")
		}
		r.next.URI, r.inf = line, false
		p.Segments = append(p.Segments, r.next)
		r.next = Segment{Map: r.next.Map}
		return nil
	}
	tag, value, _ := strings.Cut(line, ":")
	var a map[string]string
	var err error
	switch tag {
	case "#EXT-X-SERVER-CONTROL", "#EXT-X-PART-INF", "#EXT-X-MAP", "#EXT-X-PART", "#EXT-X-PRELOAD-HINT":
		if a, err = attributes(value); err != nil {
			return err
		}
	}
	number := func(text string) float64 {
		x, failed := strconv.ParseFloat(text, 64)
		if failed != nil || x < 0 {
			err = fmt.Errorf("number %q", text)
		}
		return x
	}
	switch tag {
	case "#EXT-X-VERSION":
		p.Version = int(number(value))
	case "#EXT-X-TARGETDURATION":
		p.Target = int(number(value))
	case "#EXT-X-MEDIA-SEQUENCE":
		p.Sequence = int(number(value))
	case "#EXT-X-DISCONTINUITY-SEQUENCE":
		p.Discontinuity = int(number(value))
	case "#EXT-X-SERVER-CONTROL":
		p.CanBlock = a["CAN-BLOCK-RELOAD"] == "YES"
		p.HoldBack = number(a["PART-HOLD-BACK"])
	case "#EXT-X-PART-INF":
		p.PartTarget = number(a["PART-TARGET"])
	case "#EXT-X-MAP":
		r.next.Map = a["URI"]
	case "#EXT-X-DISCONTINUITY":
		r.next.Discontinuity = true
	case "#EXT-X-PROGRAM-DATE-TIME":
		r.next.Date, err = time.Parse("2006-01-02T15:04:05.000Z", value)
	case "#EXT-X-START":
	case "#EXT-X-PLAYLIST-TYPE":
		if p.Event = value == "EVENT"; !p.Event {
			return errors.New("unknown type")
		}
	case "#EXT-X-GAP":
		r.next.Gap = true
	case "#EXT-X-PART":
		if a["URI"] == "" {
			return errors.New("no address")
		}
		r.next.Parts = append(r.next.Parts, Part{a["URI"], number(a["DURATION"]), a["INDEPENDENT"] == "YES"})
	case "#EXTINF":
		text, _, ok := strings.Cut(value, ",")
		if !ok {
			return errors.New("no comma")
		}
		r.next.Duration, r.inf = number(text), true
	case "#EXT-X-PRELOAD-HINT":
		if p.Hint = a["URI"]; p.Hint == "" || a["TYPE"] != "PART" || r.inf {
			return errors.New("a hint of what?")
		}
	case "#EXT-X-ENDLIST":
		p.End = true
	default:
		return errors.New("unknown tag")
	}
	return err
}

func (p *Playlist) check() error {
	switch {
	case p.Version < 6:
		return fmt.Errorf("version %d has no EXT-X-MAP", p.Version)
	case p.Target < 1 || p.Sequence < 0:
		return errors.New("no target duration or media sequence")
	case len(p.Segments) == 0:
		return errors.New("no segments")
	case p.PartTarget > 0 && (p.HoldBack < 3*p.PartTarget-1e-9 || !p.CanBlock || !p.End && p.Hint == ""):
		return errors.New("parts without hold back, blocking reload or a hint")
	}
	for i, s := range p.Segments {
		open := s.URI == ""
		if err := s.check(p, open); err != nil {
			return fmt.Errorf("segment %d: %w", p.Sequence+i, err)
		}
		if open && (p.End || i != len(p.Segments)-1) {
			return fmt.Errorf("segment %d has no address", p.Sequence+i)
		}
		if i == 0 {
			continue
		}
		before := p.Segments[i-1]
		if s.Map != before.Map && !s.Discontinuity {
			return fmt.Errorf("segment %d has another EXT-X-MAP without a discontinuity", p.Sequence+i)
		}
		if s.Date.IsZero() {
			continue
		}
		if end := before.Date.Add(time.Duration(math.Round(before.Duration*1000)) * time.Millisecond); s.Date.Before(end) {
			return fmt.Errorf("segment %d is %v before the end of the one before it", p.Sequence+i, end.Sub(s.Date))
		}
	}
	return nil
}

func (s *Segment) check(p *Playlist, open bool) error {
	if s.Map == "" {
		return errors.New("no EXT-X-MAP")
	}
	if !open && math.Round(s.Duration) > float64(p.Target) {
		return fmt.Errorf("%.3f s, the target is %d", s.Duration, p.Target)
	}
	sum := 0.0
	for i, part := range s.Parts {
		sum += part.Duration
		last := !open && i == len(s.Parts)-1
		switch {
		case p.PartTarget == 0:
			return errors.New("parts without EXT-X-PART-INF")
		case part.Duration > p.PartTarget+1e-9:
			return fmt.Errorf("part %d has %.3f s, the target is %.3f", i, part.Duration, p.PartTarget)
		case part.Duration < 0.85*p.PartTarget-1e-9 && !last && !part.Independent:
			return fmt.Errorf("part %d has %.3f s only, the target is %.3f", i, part.Duration, p.PartTarget)
		}
	}
	if !open && len(s.Parts) > 0 && math.Abs(sum-s.Duration) > 1e-6 {
		return fmt.Errorf("parts of %.3f s in a segment of %.3f s", sum, s.Duration)
	}
	return nil
}

// Follows checks that p may be what a playlist has become.
func (p *Playlist) Follows(before *Playlist) error {
	switch {
	case p.Target < before.Target || p.PartTarget != before.PartTarget:
		return fmt.Errorf("target durations have changed from %d and %.3f to %d and %.3f", before.Target, before.PartTarget, p.Target, p.PartTarget)
	case p.Event && p.Sequence > before.Sequence:
		return errors.New("the playlist of an event has lost segments")
	case p.Sequence < before.Sequence:
		return fmt.Errorf("the media sequence falls from %d to %d", before.Sequence, p.Sequence)
	case before.End && !p.End:
		return errors.New("a playlist that had ended goes on")
	}
	gone := p.Sequence - before.Sequence
	lost := 0
	for i, s := range before.Segments {
		if i < gone {
			if s.Discontinuity {
				lost++
			}
			continue
		}
		if i-gone >= len(p.Segments) {
			return fmt.Errorf("segment %d is gone from the end", before.Sequence+i)
		}
		now := p.Segments[i-gone]
		if s.URI != "" && (s.URI != now.URI || s.Duration != now.Duration) || s.Map != now.Map || s.Discontinuity != now.Discontinuity || !s.Date.Equal(now.Date) {
			return fmt.Errorf("segment %d was %+v and is %+v", before.Sequence+i, s, now)
		}
		for j, part := range s.Parts {
			if len(now.Parts) > 0 && (j >= len(now.Parts) || part != now.Parts[j]) {
				return fmt.Errorf("part %d of segment %d has changed", j, before.Sequence+i)
			}
		}
	}
	if p.Discontinuity != before.Discontinuity+lost && gone <= len(before.Segments) {
		return fmt.Errorf("the discontinuity sequence is %d, want %d", p.Discontinuity, before.Discontinuity+lost)
	}
	length := 0.0
	for _, s := range p.Segments {
		length += s.Duration
	}
	if gone > 0 && length < 3*float64(p.Target)-1e-6 {
		return fmt.Errorf("%.3f s are left, three target durations are %d", length, 3*p.Target)
	}
	return nil
}

// Addresses returns all addresses in the playlist.
func (p *Playlist) Addresses() (list []string) {
	for _, s := range p.Segments {
		list = append(list, s.Map)
		for _, part := range s.Parts {
			list = append(list, part.URI)
		}
		if s.URI != "" {
			list = append(list, s.URI)
		}
	}
	if p.Hint != "" {
		list = append(list, p.Hint)
	}
	return list
}
