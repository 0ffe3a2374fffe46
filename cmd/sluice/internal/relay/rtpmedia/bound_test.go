package rtpmedia

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// What comes of a picture is reported before it is kept, and its end; an error ends the
// track and frees what it had.
func TestPicturesWithoutAnEndAreReported(t *testing.T) {
	const size, most = 1000, 300 << 10
	alloc := mem.New(mem.Options{})
	sluicetest.NoLeaks(t, alloc)
	full := errors.New("full")
	now, high := 0, 0
	f := Format{Codec: flv.CodecAVC, PayloadType: 96, Clock: 90_000, Video: true}
	x := NewCollector(f, alloc, 4<<20, func(s Sample) error {
		s.Packed.Release()
		return nil
	})
	defer x.Close()
	x.hold = func(n int) error {
		now, high = n, max(high, n)
		if n > most {
			return full
		}
		return nil
	}
	number := uint16(0)
	push := func(marker bool) error {
		b := alloc.Get(12 + size)
		p := b.Bytes()
		clear(p)
		number++
		p[0], p[1] = 0x80, 96
		if marker {
			p[1] |= 0x80
		}
		binary.BigEndian.PutUint16(p[2:], number)
		p[12] = 0x41 // a slice
		return x.Push(b, time.Now())
	}
	for range 200 {
		if err := push(false); err != nil {
			t.Fatal(err)
		}
	}
	if now < 200*size-holdStep || now > 200*size {
		t.Errorf("%d bytes of %d are reported", now, 200*size)
	}
	if err := push(true); err != nil || now != 0 {
		t.Errorf("after a picture: %v, %d bytes", err, now)
	}
	var err error
	for range 1000 {
		if err = push(false); err != nil {
			break
		}
	}
	if !errors.Is(err, full) || now != 0 || high > most+2*holdStep {
		t.Errorf("%v, %d bytes, at most %d", err, now, high)
	}
}
