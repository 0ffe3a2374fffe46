package relay

import (
	"bytes"
	"fmt"
	"sort"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
)

type sending struct {
	at      time.Duration // when
	time    uint32        // in ms, as it was published
	payload []byte
	came    [2]time.Duration // to the first viewer near, and further away; 0: not yet
}

type show struct {
	clip  *Clip
	pub   *client
	skip  int          // the frame of the clip that it begins with
	sent  [2][]sending // by track
	count int
}

func (s *show) head() error {
	for _, t := range s.clip.Head {
		payload := t.Payload
		if t.Kind == flv.TagScript {
			name, err := flv.AppendScript(nil, "@setDataFrame")
			if err != nil {
				return err
			}
			payload = append(name, payload...)
		}
		if err := s.send(t.Kind, 0, payload); err != nil {
			return err
		}
	}
	return nil
}

func (s *show) send(kind flv.TagType, at uint32, payload []byte) error {
	c := s.pub.rtmp
	err := c.WriteMessage(rtmp.Message{Type: rtmp.MessageType(kind), StreamID: c.StreamID(), Time: at, Payload: mem.Wrap(payload, nil)})
	if err == nil {
		err = c.Flush()
	}
	return err
}

func (s *show) due() time.Duration {
	_, next := s.clip.at(s.skip + s.count)
	return (time.Duration(next) - time.Duration(s.clip.Media[s.skip].Time)) * time.Millisecond
}

func (s *show) publish(now time.Duration) (t Tag, at uint32) {
	t, at = s.clip.at(s.skip + s.count)
	if s.count == 0 {
		t = s.clip.Media[0] // a stream begins with a key frame
	}
	s.count++
	which := trackOf(t.Kind)
	s.sent[which] = append(s.sent[which], sending{at: now, time: at, payload: t.Payload})
	return t, at
}

// find returns which frame of a track has that time, or -1; it looks at the expected
// one first.
func (s *show) find(which int, time uint32, expected int) int {
	sent := s.sent[which]
	if expected < len(sent) && sent[expected].time == time {
		return expected
	}
	n := sort.Search(len(sent), func(i int) bool { return sent[i].time >= time })
	if n < len(sent) && sent[n].time == time {
		return n
	}
	return -1
}

func (s *show) ends() [2]int { return [2]int{len(s.sent[video]), len(s.sent[audio])} }

type tally struct {
	now       time.Duration // when what is fed was read
	from, to  time.Duration // frames sent in between count for the lag
	delivered int
	lags      []time.Duration
	hops      []time.Duration
	oddities  int
	oddity    string // the first
}

// A viewer follows what it gets: which frame comes next, what is missing, how long it
// took.
type viewer struct {
	*client
	show   *show
	tally  *tally
	tracks [2]struct {
		began        bool
		next, missed int
	}
	far   int  // 1: further away by a hop
	look  bool // at every byte
	gone  bool
	mark  int64 // bytes at the beginning of the window
	asked time.Duration
	key   time.Duration // when the first key frame was complete; 0: not yet
}

func (v *viewer) odd(format string, args ...any) error {
	if v.tally.oddities++; v.tally.oddities == 1 {
		v.tally.oddity = fmt.Sprintf(format, args...)
	}
	return nil
}

func (v *viewer) take(kind flv.TagType, at uint32, payload []byte) error {
	packet, key := kindOf(kind, payload)
	if packet != media {
		return nil
	}
	which := trackOf(kind)
	tr := &v.tracks[which]
	n := v.show.find(which, at, tr.next)
	switch {
	case n < 0 || len(v.show.sent[which][n].payload) != len(payload):
		return v.odd("no frame of kind %d with %d bytes was published for %d ms", kind, len(payload), at)
	case tr.began && n < tr.next:
		return v.odd("frame %d of kind %d comes after frame %d", n, kind, tr.next-1)
	case tr.began:
		tr.missed += n - tr.next
	}
	tr.began, tr.next = true, n+1
	sent := &v.show.sent[which][n]
	if v.look && !bytes.Equal(payload, sent.payload) {
		return fmt.Errorf("%w: frame %d of kind %d has other bytes than were published", ErrStream, n, kind)
	}
	t := v.tally
	t.delivered++
	if key && v.key == 0 {
		v.key = t.now
	}
	if sent.at >= t.from && sent.at < t.to {
		t.lags = append(t.lags, t.now-sent.at)
		if sent.came[v.far] == 0 {
			sent.came[v.far] = t.now
			if sent.came[1-v.far] > 0 {
				t.hops = append(t.hops, sent.came[1]-sent.came[0])
			}
		}
	}
	return nil
}

// behind reports whether a frame with a number below the ends is still missing.
func (v *viewer) behind(ends [2]int) bool {
	return v.tracks[video].next < ends[video] || v.tracks[audio].next < ends[audio]
}

func (v *viewer) lost(ends [2]int) int {
	n := 0
	for which, tr := range v.tracks {
		n += tr.missed + max(0, ends[which]-tr.next) // all, when it never got any
	}
	return n
}
