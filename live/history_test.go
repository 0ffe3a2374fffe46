package live

import (
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// historyTag draws a frame. Its body says which it is.
func historyTag(r *rand.Rand, n int, at uint32) tag {
	var g tag
	switch k := r.IntN(20); {
	case k == 0:
		g = videoConfig(at, byte(n))
		g.body = append(g.body, byte(n>>8))
	case k == 1:
		g = tag{18, at, []byte("\x02\x00\x0aonMetaData")}
	case k == 2:
		g = tag{8, at, []byte{0xAF, 0}}
	case k < 9:
		g = audio(at, r.IntN(300))
	default:
		size := r.IntN(3000)
		if r.IntN(10) == 0 {
			size = r.IntN(200_000)
		}
		g = video(at, r.IntN(10) == 0, size)
	}
	return tag{g.typ, g.time, append(g.body, byte(n), byte(n>>8))}
}

// checkHistory holds what one viewer got against everything that was published:
// whole tags in their order; wherever some are missing, the headers in force
// and then a key frame.
func checkHistory(t *testing.T, got, all []tag) {
	t.Helper()
	same := func(a, b tag) bool { return tag{a.typ, 0, a.body}.equal(tag{b.typ, 0, b.body}) }
	next := 0 // the index in all of what should come
	for i := 0; i < len(got); i++ {
		if next < len(all) && next > 0 && got[i].equal(all[next]) {
			next++
			continue
		}
		// A hole: metadata at 0, headers and a key frame at the key frame's
		// time.
		j := i
		for j < len(got) && !got[j].key() {
			if got[j].typ != 18 && j > i && got[j-1].typ != 18 && got[j].time != got[j-1].time {
				t.Fatalf("tag %d, %v at %d, is neither the next nor a header before a key frame", i, got[i].typ, got[i].time)
			}
			j++
		}
		if j == len(got) {
			t.Fatalf("tag %d and what follows are neither the next nor lead to a key frame", i)
		}
		k := next
		for k < len(all) && !got[j].equal(all[k]) {
			k++
		}
		if k == len(all) {
			t.Fatalf("tag %d is a key frame at %d that was not published after what was sent", j, got[j].time)
		}
		var want []tag // the headers in force at all[k]
		for _, typ := range []func(tag) bool{
			func(g tag) bool { return g.typ == 18 },
			func(g tag) bool { return g.typ == 9 && g.body[0] == 0x17 && g.body[1] == 0 },
			func(g tag) bool { return g.typ == 8 && g.body[1] == 0 },
		} {
			for m := k - 1; m >= 0; m-- {
				if typ(all[m]) {
					want = append(want, all[m])
					break
				}
			}
		}
		if len(want) != j-i {
			t.Fatalf("%d headers before the key frame at %d, want %d", j-i, got[j].time, len(want))
		}
		for m := range want {
			if !same(want[m], got[i+m]) {
				t.Fatalf("header %d before the key frame at %d is not the one in force", m, got[j].time)
			}
		}
		i, next = j, k+1
	}
}

// Viewers of all kinds, who read as they please, against what was published.
func TestHistories(t *testing.T) {
	seed := sluicetest.Seed(t)
	rounds := 8
	if testing.Short() {
		rounds = 3
	}
	for round := range rounds {
		r := rand.New(rand.NewPCG(seed, uint64(round)))
		alloc := mem.New(mem.Options{Name: t.Name()})
		h := NewHub(HubOptions{Stream: StreamOptions{
			Allocator: alloc, GOPFrames: 20 + r.IntN(400), GOPBytes: 100<<10 + r.IntN(4<<20),
			Backlog: time.Duration(1 + r.IntN(20_000_000)), Ahead: time.Hour, NoGOP: r.IntN(4) == 0,
		}})
		w := NewWriter(WriterOptions{Loops: 1 + r.IntN(2), Jumps: 1 << 20})
		p := mustPublish(t, h, "s", PublishOptions{})
		type result struct {
			form Form
			b    []byte
			err  error
		}
		results := make(chan result, 100)
		viewers := 0
		join := func() {
			s, c := pair(t)
			s.SetWriteBuffer(32 << 10 << r.IntN(4))
			c.SetReadBuffer(32 << 10 << r.IntN(4))
			form := Form(r.IntN(3))
			add(t, w, s, p.Stream(), ViewerOptions{Form: form, NoGOP: r.IntN(3) == 0, Merge: time.Duration(r.IntN(3)) * 2 * time.Millisecond})
			viewers++
			most := 1 << (9 + r.IntN(10))
			go func() {
				var b []byte
				part := make([]byte, most)
				for {
					n, err := c.Read(part)
					b = append(b, part[:n]...)
					if err != nil {
						if err == io.EOF {
							err = nil
						}
						results <- result{form, b, err}
						return
					}
				}
			}()
		}
		var all []tag
		frames := 200 + r.IntN(800)
		for n := range frames {
			if n > 0 && r.IntN(frames/8) == 0 {
				join()
			}
			g := historyTag(r, n, uint32(n)*10)
			if n == 0 { // or sound alone would be a place to begin at
				g = videoConfig(0, 1)
			}
			all = append(all, g)
			send(t, p, g)
		}
		p.Close()
		for range viewers {
			res := <-results
			if res.err != nil {
				t.Errorf("round %d: %v", round, res.err)
				continue
			}
			if len(res.b) == 0 || res.form == FormRTMP && len(res.b) < 12 {
				continue // it never had a frame to begin at
			}
			b := res.b
			if res.form == FormWebSocket {
				b, _ = unframe(t, b)
			}
			if res.form == FormRTMP {
				checkHistory(t, rtmpTags(t, b), all)
			} else {
				checkHistory(t, fileOf(t, b), all)
			}
		}
		w.Close()
		if out := alloc.Stats().CheckedOut; out != 0 {
			t.Errorf("round %d: %d blocks are still out", round, out)
		}
		if t.Failed() {
			t.Fatalf("round %d failed", round)
		}
	}
}
