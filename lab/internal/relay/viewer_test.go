package relay

import (
	"errors"
	"testing"
	"time"
)

// published is a show of which so many frames are out, and a seat in it.
func published(t *testing.T, n int) (*show, *seat) {
	t.Helper()
	s := &show{clip: testClip(t)}
	for i := range n {
		tag, _ := s.clip.at(i)
		which := trackOf(tag.Kind)
		s.sent[which] = append(s.sent[which], time.Duration(i)*time.Millisecond)
		s.n++
	}
	return s, &seat{show: s, tally: &tally{to: time.Hour}, frame: -1}
}

// play hands a frame to a seat, with some bytes of it changed if asked for.
func play(s *seat, n int, spoil bool) error {
	tag, at := s.show.clip.at(n)
	p := append([]byte(nil), tag.Payload...)
	if spoil {
		p[len(p)-1] ^= 1
	}
	if err := s.started(tag.Kind, at, len(p), p[0], p[1]); err != nil {
		return err
	}
	for _, part := range [][]byte{p[:2], p[2:]} {
		if err := s.passed(part); err != nil {
			return err
		}
	}
	return s.ended()
}

func TestASeatCountsWhatIsMissing(t *testing.T) {
	const n, first = 1500, 20 // twice around the clip
	show, s := published(t, n)
	ends := [2]int{len(show.sent[video]), len(show.sent[audio])}
	missing := 0
	for i := first; i < n; i++ {
		s.tally.now = time.Duration(i+3) * time.Millisecond
		if i%100 == 50 || i == n-1 {
			missing++
			continue
		}
		if err := play(s, i, false); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.lost(ends); got != missing {
		t.Errorf("%d frames are missing, %d were left out", got, missing)
	}
	if got := s.tally.delivered; got != n-first-missing {
		t.Errorf("%d frames delivered of %d", got, n-first-missing)
	}
	if p50 := s.tally.lag.quantile(0.5); p50 < 3*time.Millisecond || p50 > 3*time.Millisecond+lagStep {
		t.Errorf("frames that take 3 ms take %v", p50)
	}
	if s.key == 0 {
		t.Error("there was no key frame")
	}
	if !s.behind(ends) {
		t.Error("the last frame is missing, and nothing is behind")
	}
}

func TestASeatNoticesWhatWasNotPublished(t *testing.T) {
	for name, try := range map[string]func(s *seat) error{
		"again":       func(s *seat) error { return play(s, 10, false) },
		"not out yet": func(s *seat) error { return play(s, 50, false) },
		"another size": func(s *seat) error {
			tag, at := s.show.clip.at(11)
			return s.started(tag.Kind, at, len(tag.Payload)+1, 0x27, 1)
		},
		"another time": func(s *seat) error {
			tag, at := s.show.clip.at(11)
			return s.started(tag.Kind, at+1, len(tag.Payload), 0x27, 1)
		},
	} {
		_, s := published(t, 50)
		if err := errors.Join(play(s, 10, false), try(s), s.passed([]byte{1, 2}), s.ended()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s.tally.oddities != 1 || s.tally.oddity == "" || s.tally.delivered != 1 {
			t.Errorf("%s: %d oddities, %q, %d frames delivered", name, s.tally.oddities, s.tally.oddity, s.tally.delivered)
		}
	}
	for name, try := range map[string]func(s *seat) error{
		"another byte":  func(s *seat) error { return play(s, 11, true) },
		"one byte more": func(s *seat) error { return errors.Join(play(s, 11, false), s.passed([]byte{0})) },
	} {
		_, s := published(t, 50)
		if err := errors.Join(play(s, 10, false), try(s)); !errors.Is(err, ErrStream) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What sets up the decoder may come at any time, as often as it likes.
	show, s := published(t, 50)
	for _, h := range show.clip.Head {
		if h.Kind == kindScript {
			continue
		}
		if err := errors.Join(s.started(h.Kind, 99, len(h.Payload), h.Payload[0], h.Payload[1]), s.passed(h.Payload), s.ended()); err != nil {
			t.Error(err)
		}
	}
	if s.tally.delivered != 0 {
		t.Error("a sequence header is counted as a frame")
	}
}

func TestQuantilesOfLags(t *testing.T) {
	l := &lags{}
	if l.quantile(0.5) != 0 {
		t.Error("nothing has a median")
	}
	for i := range 100 {
		l.add(time.Duration(i)*time.Millisecond + 50*time.Microsecond)
	}
	l.add(-time.Second)
	l.add(time.Hour)
	for q, want := range map[float64]time.Duration{0: lagStep, 0.5: 49 * time.Millisecond, 0.99: 99 * time.Millisecond, 1: 10 * time.Second} {
		if got := l.quantile(q); got < want || got > want+2*time.Millisecond {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if l.max != time.Hour {
		t.Errorf("the longest is %v", l.max)
	}
}
