package live

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
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

// checkHistory holds what one viewer got against everything that was published,
// as a decoder would: frames as they were and in their order, the headers in
// force before each, and no picture without the one before it, back to a key
// frame.
func checkHistory(t *testing.T, got, all []tag) {
	t.Helper()
	header := func(g tag) int {
		switch {
		case g.typ == 18:
			return 1
		case g.typ == 9 && g.body[1] == 0:
			return 2
		case g.typ == 8 && g.body[1] == 0:
			return 3
		}
		return 0
	}
	var has, inForce [4][]byte
	next, picture, decoded := 0, -1, -1 // indices in all: of the next, of the latest picture, of the latest that came
	for i, g := range got {
		k := next
		for k < len(all) && !g.equal(all[k]) {
			k++
		}
		kind := header(g)
		if kind != 0 {
			has[kind] = g.body
			if k == len(all) {
				continue // one from before
			}
		}
		if k == len(all) {
			t.Fatalf("tag %d, %v at %d, was not published after what came before it", i, g.typ, g.time)
		}
		for ; next <= k; next++ {
			if h := header(all[next]); h != 0 {
				inForce[h] = all[next].body
			} else if all[next].typ == 9 && next < k {
				picture = next
			}
		}
		if kind != 0 {
			continue
		}
		for h := range has {
			if !bytes.Equal(has[h], inForce[h]) {
				t.Fatalf("tag %d, %v at %d, comes with another header of kind %d than the one in force", i, g.typ, g.time, h)
			}
		}
		if g.typ == 9 {
			if !g.key() && decoded != picture {
				t.Fatalf("tag %d, a picture at %d, comes without the one before it", i, g.time)
			}
			picture, decoded = k, k
		}
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
			form := []Form{FormFLV, FormRTMP, FormWebSocket, FormChunked}[r.IntN(4)]
			var conn, peer net.Conn = s, c
			if r.IntN(3) == 0 {
				conn, peer = wirePair(t, s, c)
			}
			add(t, w, conn, p.Stream(), ViewerOptions{Form: form, NoGOP: r.IntN(3) == 0, Merge: time.Duration(r.IntN(3)) * 2 * time.Millisecond})
			viewers++
			most := 1 << (9 + r.IntN(10))
			go func() {
				var b []byte
				part := make([]byte, most)
				for {
					n, err := peer.Read(part)
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
			if res.form == FormChunked {
				b = unchunk(t, b, false)
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
