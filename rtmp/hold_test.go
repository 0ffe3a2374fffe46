package rtmp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// Until it publishes, a peer has one command's length of unfinished messages on all its
// chunk streams together: so many may come who never will.
func TestLittleIsUnfinishedBeforeARequest(t *testing.T) {
	var in []byte
	body := make([]byte, InitialChunkSize)
	const parts = 100
	for id := range uint32(20) {
		in = AppendChunkHeader(in, 3+id, TypeCommandAMF0, 0, 0, parts*len(body)+1)
		in = append(in, body...)
		for range parts - 1 {
			in = append(AppendContinuation(in, 3+id, 0), body...)
		}
	}
	l := Limits{Command: 16 << 10}
	most, err := hostileRead(t, in, l, true)
	if !errors.Is(err, ErrTooLong) {
		t.Errorf("%v, want %v", err, ErrTooLong)
	}
	if limit := int64(hostileBlock + 3*l.Command); most > limit {
		t.Errorf("%d bytes were held, at most %d", most, limit)
	}
}

// Limits.Hold hears of large messages before they take memory, and of their ends: when they
// are complete, aborted, or the connection ends. Its error ends reading.
func TestHold(t *testing.T) {
	const size = 1 << 20
	abort := binary.BigEndian.AppendUint32(AppendChunkHeader(nil, 2, TypeAbort, 0, 0, 4), 6)
	small := append(AppendChunkHeader(nil, 7, TypeAudio, 1, 0, 3), 1, 2, 3)
	message := func(chunk int, left int) []byte {
		in := binary.BigEndian.AppendUint32(AppendChunkHeader(nil, 2, TypeSetChunkSize, 0, 0, 4), uint32(chunk))
		in = AppendChunkHeader(in, 6, TypeVideo, 1, 0, size)
		for n := size; n > left; n -= chunk {
			if n < size {
				in = AppendContinuation(in, 6, 0)
			}
			in = append(in, make([]byte, min(chunk, n-left))...)
		}
		return in
	}
	errFull := errors.New("full")
	for _, c := range []struct {
		name       string
		in         []byte
		most, want int // want: the most that it heard, at least
		err        error
	}{
		{"small ones", bytes.Repeat(small, 100), size, 0, nil},
		{"in pieces", message(4096, 0), 2 * size, size, nil},
		{"in one chunk", message(size, 0), 2 * size, size, nil},
		{"aborted", append(message(4096, size/2), abort...), 2 * size, size / 2, nil},
		{"stopped", message(4096, size/2), 2 * size, size / 2, nil},
		{"in pieces, with an error", message(4096, 0), size / 2, size / 2, errFull},
		{"in one chunk, with an error", message(size, 0), size / 2, size, errFull},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, a := chunkSource(&controlSteps{c.in, 1000}, mem.Options{})
			sluicetest.NoLeaks(t, a)
			now, high := 0, 0
			r := NewChunkReader(b, Limits{Hold: func(n int) error {
				now, high = n, max(high, n)
				if n > c.most {
					return errFull
				}
				return nil
			}})
			var err error
			for err == nil {
				var m Message
				if m, err = r.ReadMessage(); err == nil {
					m.Release()
					if now != 0 {
						t.Errorf("%d bytes are held between messages", now)
					}
				}
			}
			if c.err != nil && !errors.Is(err, c.err) {
				t.Errorf("%v", err)
			}
			if high < c.want || c.want == 0 && high > 0 {
				t.Errorf("it heard of %d bytes, want %d", high, c.want)
			}
			if c.name == "aborted" && now != 0 {
				t.Errorf("%d bytes are held after an abort", now)
			}
			r.Recycle()
			b.Recycle()
			if now != 0 {
				t.Errorf("%d bytes are held at the end", now)
			}
		})
	}
}
