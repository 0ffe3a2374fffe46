package sluice_test

import (
	"math/rand/v2"
	"testing"

	"github.com/sluice-go/sluice"
)

// script makes the choices of a history from a fuzzer's bytes: each choice takes
// as many bytes as it needs. At its end the history is over, and nothing
// interrupts what is left.
type script struct {
	rest []byte
	over bool
}

func (s *script) pick(n int) int {
	if s.over {
		return 1 % n
	}
	v := 0
	for top := 1; top < n && len(s.rest) > 0; top <<= 8 {
		v = v<<8 | int(s.rest[0])
		s.rest = s.rest[1:]
	}
	return v % n
}

// FuzzBufReader runs a script of calls on a reader beside the model of the
// random histories. The script says too which source there is, how the bytes
// come, and which they are.
func FuzzBufReader(f *testing.F) {
	f.Add([]byte("\x00\x10\x20 a plain reader, some calls"))
	f.Add([]byte("\x01\x01\x01 one byte each, BufLen 16 and so on"))
	f.Add([]byte("\x02\xff\x03 fed between the calls, with marks and lines"))
	f.Add([]byte("\x03\x40\x04 interrupted by deadlines"))
	rng := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		p := make([]byte, 400)
		for i := range p {
			p[i] = byte(rng.IntN(256))
		}
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		d := &script{rest: p}
		kind, most := d.pick(6), 1+d.pick(1<<d.pick(17))
		bufLen := []int{0, 16, 17, 300, 4096}[d.pick(5)]
		data := modelData(rand.New(rand.NewPCG(uint64(d.pick(256)), 1)), 1+d.pick(1<<(2+d.pick(15))))
		most = max(most, len(data)/2000)
		a := paranoid(t)
		next := func() int { return 1 + d.pick(most) }
		var h *history
		switch kind {
		case 0, 1:
			h = newHistory(t, d, readerOf(t, a, bufLen, &pieces{data: data, next: next}), data)
		case 2:
			h = fedHistory(t, d, a, data, most)
		case 3:
			h = newHistory(t, d, readerOf(t, a, bufLen, &flaky{data, d, most}), data)
		case 4:
			r := sluice.NewBufReaderChan(len(data), sluice.Options{Allocator: a})
			t.Cleanup(r.Recycle)
			for left := data; len(left) > 0; {
				n := min(next(), len(left))
				if err := r.Feed(append([]byte(nil), left[:n]...)); err != nil {
					t.Fatal(err)
				}
				left = left[n:]
			}
			close(r.Mouth)
			h = newHistory(t, d, r, data)
		case 5:
			r := sluice.NewBufReaderBytes(append([]byte(nil), data...), sluice.Options{Allocator: a})
			t.Cleanup(r.Recycle)
			h = newHistory(t, d, r, data)
		}
		for len(d.rest) > 0 {
			h.step()
		}
		d.over = true
		h.finish()
	})
}
