package edge

import (
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
)

// What the origin has of the group of pictures, when the connection is lost and comes back, is published once.
func TestWhatAnOriginRepeatsIsLeftOut(t *testing.T) {
	head := []frame{
		{flv.TagScript, 0, "\x02\x00\x0aonMetaData\x08\x00\x00\x00\x00\x00\x00\x09"},
		{flv.TagVideo, 0, "\x17\x00\x00\x00\x00config"},
		{flv.TagAudio, 0, "\xaf\x00\x12\x10"},
	}
	group := []frame{
		{flv.TagVideo, 1000, "\x17\x01\x00\x00\x00key"},
		{flv.TagAudio, 1005, "\xaf\x01silence"},
		{flv.TagVideo, 1040, "\x27\x01\x00\x00\x00x"},
		{flv.TagAudio, 1028, "\xaf\x01silence"},
		{flv.TagVideo, 1080, "\x27\x01\x00\x00\x00x"},
	}
	another := []frame{{flv.TagVideo, 1120, "\x17\x01\x00\x00\x00key"}, {flv.TagVideo, 1160, "\x27\x01\x00\x00\x00x"}}
	first := slices.Concat(head, []frame{{flv.TagVideo, 960, "\x17\x01\x00\x00\x00before"}}, group[:3])
	for name, c := range map[string]struct{ second, want []frame }{
		"the rest":             {slices.Concat(head, group), slices.Concat(first, group[3:])},
		"another group":        {slices.Concat(head, another), slices.Concat(first, head, another)},
		"behind what is there": {slices.Concat(head, group[2:]), slices.Concat(first, group[3:])},
		"from the beginning":   {slices.Concat(head, []frame{{flv.TagVideo, 0, "\x17\x01\x00\x00\x00key"}}), slices.Concat(first, head, []frame{{flv.TagVideo, 0, "\x17\x01\x00\x00\x00key"}})},
	} {
		t.Run(name, func(t *testing.T) {
			ways(t, func(t *testing.T, serve func(*source, *testing.T) string) {
				s := &source{answer: yes, deliver: func(n int64, out *output) {
					frames := first
					if n > 1 {
						frames = c.second
					}
					for _, f := range frames {
						if err := out.send(f); err != nil {
							return
						}
					}
					if n > 1 {
						<-out.gone
					}
				}}
				l := &local{}
				l.viewers.Store(1)
				p := newPuller(t, serve(s, t), l, func(o *Options) { o.Linger = time.Minute })
				if err := pull(t, p, "live/s"); err != nil {
					t.Fatal(err)
				}
				last := c.want[len(c.want)-1]
				until(t, "the last frame is there", func() bool {
					got, _ := l.published()[0].got()
					return len(got) > 0 && got[len(got)-1] == last
				})
				if got, _ := l.published()[0].got(); !slices.Equal(got, c.want) {
					t.Errorf("published %q,\nwant %q", got, c.want)
				}
			})
		})
	}
}

// An origin that has nothing but what it had is given up as one that is away: repetitions are not the stream.
func TestAnOriginThatRepeatsOnlyIsGivenUp(t *testing.T) {
	ways(t, func(t *testing.T, serve func(*source, *testing.T) string) {
		s := &source{answer: yes, deliver: func(_ int64, out *output) {
			for _, f := range []frame{{flv.TagVideo, 0, "\x17\x00\x00\x00\x00config"}, {flv.TagVideo, 0, "\x17\x01\x00\x00\x00x"}, {flv.TagVideo, 40, "\x27\x01\x00\x00\x00y"}} {
				if out.send(f) != nil {
					return
				}
			}
		}}
		l := &local{}
		l.viewers.Store(1)
		p := newPuller(t, serve(s, t), l, func(o *Options) { o.Linger, o.GiveUp = time.Minute, 100*time.Millisecond })
		if err := pull(t, p, "live/s"); err != nil {
			t.Fatal(err)
		}
		until(t, "viewers are let go", func() bool { _, over := l.published()[0].got(); return over && p.Stats().Active == 0 })
		if got, _ := l.published()[0].got(); len(got) != 3 {
			t.Errorf("%q were published", got)
		}
		if s.asked.Load() < 2 {
			t.Error("it was asked once")
		}
	})
}
