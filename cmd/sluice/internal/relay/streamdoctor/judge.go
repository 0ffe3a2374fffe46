package streamdoctor

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Codes of findings.
const (
	NoPublisher     = "no_publisher"
	EncoderStopped  = "encoder_stopped"
	EncoderSlow     = "encoder_slow"
	PublisherLine   = "publisher_line"
	ServerProcessor = "server_processor"
	ServerMemory    = "server_memory"
	ServerLine      = "server_line"
	ViewerLine      = "viewer_line"
)

// A Finding is one reason.
type Finding struct {
	Code    string `json:"code"`
	Session string `json:"session,omitempty"` // that it is about, as in the API
	Says    string `json:"says"`              // for people
}

// What makes a judgement. A healthy stream is far from each: encoders keep real time
// within a per cent, and frames are a few tens of milliseconds apart.
const (
	// Enough is how long has to be looked at.
	Enough = 4 * time.Second
	// silence is for how long nothing may come.
	silence = 1500 * time.Millisecond
	// slowest is the least media time in a second.
	slowest = 0.92
	// pause is how long a pause between two frames has to be before it is one.
	pause = 700 * time.Millisecond
	// cut is the share of moments at which a part of a frame has come, of more than
	// partly bytes, that shows that frames take their time on the line: what an encoder
	// has made comes at once on a line that is fast enough.
	cut    = 0.4
	partly = 200
	// reorders is how many lost packets are more than those of any line.
	reorders = 3
	// tooLate is when a look is late because the processor was not free, lateShare how
	// many of them may be, and busy which part of the processors this process may use.
	tooLate   = 100 * time.Millisecond
	lateShare = 0.25
	busy      = 0.95
	// behind is how far a viewer may be behind.
	behind = 1500 * time.Millisecond
)

// Measured are the figures of a judgement.
type Measured struct {
	SilenceMS int64   `json:"silence_ms"` // since the newest frame
	Rate      float64 `json:"rate"`       // media time in a second; 1 is real time
	PauseMS   int64   `json:"pause_ms"`   // the longest one between two frames
	CutShare  float64 `json:"cut_share"`  // moments at which only a part of a frame had come
	Reorders  int64   `json:"reorders"`
	LateShare float64 `json:"late_share"` // moments at which this process came too late
	CPU       float64 `json:"cpu"`        // of this process, 1 for one processor
}

// Judge returns the reasons why a stream may stall, none for a healthy one. What is
// seen has to last for Enough.
func Judge(s Seen) ([]Finding, Measured) {
	if len(s.Looks) < 2 {
		return nil, Measured{}
	}
	m := measure(s)
	var found []Finding
	add := func(code, session, format string, args ...any) {
		found = append(found, Finding{code, session, fmt.Sprintf(format, args...)})
	}
	first, last := s.Looks[0], s.Looks[len(s.Looks)-1]
	if s.MemoryShort != nil {
		add(ServerMemory, "", "memory is short: %v", s.MemoryShort)
	}
	starved := m.LateShare >= lateShare || s.Processors > 0 && m.CPU >= busy*float64(s.Processors)
	if starved {
		add(ServerProcessor, "", "the processor is full: this server uses %.1f of %d processors, and comes too late %.0f %% of the time", m.CPU, s.Processors, 100*m.LateShare)
	}
	switch {
	case last.Publisher == "":
		add(NoPublisher, "", "the stream has no publisher: its encoder has gone")
	case first.Publisher != last.Publisher:
		// It has just begun.
	case m.SilenceMS >= silence.Milliseconds():
		switch received := last.Line.Received - atSilence(s).Line.Received; {
		case last.Line.Known && last.Line.Unacked:
			add(PublisherLine, last.Publisher, "nothing has come from the publisher for %d ms, and it acknowledges nothing: its line is cut", m.SilenceMS)
		case last.Line.Known && received > partly: // not answers to pings
			add(PublisherLine, last.Publisher, "no whole frame has come for %d ms, only %d bytes of one: the publisher's line is too slow", m.SilenceMS, received)
		default:
			add(EncoderStopped, last.Publisher, "the publisher is connected and has sent nothing for %d ms: its encoder has stopped", m.SilenceMS)
		}
	case starved:
		// What came late may have been read late.
	case m.Rate < slowest:
		if m.Reorders >= reorders || m.CutShare >= cut {
			add(PublisherLine, last.Publisher, "%.2f s of media come in a second, in pieces: the publisher's line is slower than its bitrate, or loses packets", m.Rate)
		} else {
			add(EncoderSlow, last.Publisher, "%.2f s of media come in a second, in whole frames: the encoder is slower than real time", m.Rate)
		}
	case m.PauseMS >= pause.Milliseconds() && catchesUp(s):
		add(PublisherLine, last.Publisher, "nothing came for %d ms, and then what had been missing: the publisher's line stalls", m.PauseMS)
	}
	found = append(found, judgeViewers(s)...)
	return found, m
}

// measure makes the figures.
func measure(s Seen) Measured {
	first, last := s.Looks[0], s.Looks[len(s.Looks)-1]
	var m Measured
	came := first.At // of the newest frame
	late, began := 0, 0
	for i := 1; i < len(s.Looks); i++ {
		before, now := s.Looks[i-1], s.Looks[i]
		if now.Late > tooLate {
			late++
		}
		if now.Frames != before.Frames {
			if began > 0 {
				m.PauseMS = max(m.PauseMS, now.At.Sub(came).Milliseconds())
			} else {
				began = i
			}
			came = now.At
		}
	}
	m.SilenceMS = last.At.Sub(came).Milliseconds()
	// From frame to frame: a stream with few of them has no other time.
	m.Rate = 1
	if took := came.Sub(s.Looks[began].At); took >= Enough/2 {
		m.Rate = float64(int32(last.Media-s.Looks[began].Media)) / float64(took.Milliseconds())
	}
	if took := last.At.Sub(first.At); took > 0 {
		m.CPU = float64(last.CPU-first.CPU) / float64(took)
	}
	m.LateShare = float64(late) / float64(len(s.Looks)-1)
	m.CutShare = cutShare(s.Looks)
	m.Reorders = last.Line.Reorders - first.Line.Reorders
	return m
}

// cutShare is the share of looks at which a part of a frame had come. What TLS adds to
// the bytes rises from one frame to the next: the least of each half shows by how much.
func cutShare(looks []Look) float64 {
	half := len(looks) / 2
	if half == 0 {
		return 0
	}
	least := func(from, to int) (at int) {
		at = from
		for i := from; i < to; i++ {
			if !looks[i].Line.Parts {
				return -1
			}
			if looks[i].Line.Partial < looks[at].Line.Partial {
				at = i
			}
		}
		return at
	}
	a, b := least(0, half), least(half, len(looks))
	if a < 0 || b < 0 {
		return 0
	}
	low := float64(looks[a].Line.Partial)
	slope := (float64(looks[b].Line.Partial) - low) / float64(b-a)
	cuts := 0
	for i, l := range looks {
		if float64(l.Line.Partial)-low-slope*float64(i-a) > partly {
			cuts++
		}
	}
	return float64(cuts) / float64(len(looks))
}

// atSilence is the look at which the newest frame was there first.
func atSilence(s Seen) Look {
	i := len(s.Looks) - 1
	for i > 0 && s.Looks[i-1].Frames == s.Looks[i].Frames {
		i--
	}
	return s.Looks[i]
}

// catchesUp reports whether the media that a pause has held up came at once after it:
// its time goes on from where it was, and faster than the clock. An encoder that has
// paused leaves a gap in the media time instead, in one step.
func catchesUp(s Seen) bool {
	var longest time.Duration
	at, came := 0, 0
	for i := 1; i < len(s.Looks); i++ {
		if s.Looks[i].Frames != s.Looks[i-1].Frames {
			if d := s.Looks[i].At.Sub(s.Looks[came].At); came > 0 && d > longest {
				longest, at = d, i
			}
			came = i
		}
	}
	if at == 0 {
		return false
	}
	// Frames in the second after the pause, and what is usual.
	frames := func(from, to int) float64 {
		d := s.Looks[to].At.Sub(s.Looks[from].At).Seconds()
		if d <= 0 {
			return 0
		}
		return float64(s.Looks[to].Frames-s.Looks[from].Frames) / d
	}
	to := at
	for to < len(s.Looks)-1 && s.Looks[to].At.Sub(s.Looks[at].At) < 500*time.Millisecond {
		to++
	}
	usual := frames(0, len(s.Looks)-1)
	// Of a stream with few frames each comes after a pause.
	return longest.Seconds()*usual > 5 && frames(at-1, to) > 1.5*usual
}

// judgeViewers finds viewers that are behind: when almost all of several are, it is
// the line of this server.
func judgeViewers(s Seen) []Finding {
	var last Look // at viewers
	for _, l := range s.Looks {
		if l.Viewers != nil {
			last = l
		}
	}
	var found []Finding
	counted := 0
	for session, now := range last.Viewers {
		least, lost, there, looks := now.Lag, int64(0), 0, 0
		for _, l := range s.Looks {
			if l.Viewers != nil {
				looks++
			}
			v, ok := l.Viewers[session]
			if !ok {
				continue
			}
			if there == 0 {
				lost = now.Dropped - v.Dropped + now.Jumps - v.Jumps
			}
			there++
			least = min(least, v.Lag)
		}
		if there < looks*3/4 {
			continue // it has just come
		}
		counted++
		switch {
		case lost > 0:
			found = append(found, Finding{ViewerLine, session, fmt.Sprintf("the viewer takes less than the stream has, frames left out for it: %d", lost)})
		case least >= behind+now.Merge:
			found = append(found, Finding{ViewerLine, session, fmt.Sprintf("the viewer has not acknowledged what was sent %d ms ago: its line is too slow, or has stopped", least.Milliseconds())})
		}
	}
	if counted >= 3 && len(found)*5 >= counted*4 {
		return []Finding{{ServerLine, "", fmt.Sprintf("%d of %d viewers are behind: this server's line is full", len(found), counted)}}
	}
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(len(a.Session), len(b.Session)), cmp.Compare(a.Session, b.Session))
	})
	return found
}
