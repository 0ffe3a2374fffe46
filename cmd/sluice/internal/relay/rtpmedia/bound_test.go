package rtpmedia

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
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

// So are packets that wait for one before them, of sound too, and those at the beginning that wait
// for reports.
func TestPacketsThatWaitAreReported(t *testing.T) {
	const size, waiting = 60000, 30
	alloc := mem.New(mem.Options{})
	sluicetest.NoLeaks(t, alloc)
	tracks, err := Parse([]byte("v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=a\r\nt=0 0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\nm=audio 0 RTP/AVP 0\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		tracks []Track
		track  int
		gap    uint16 // before the second packet
	}{
		{"pictures", tracks[:1], 0, 1},
		{"sound", tracks[1:], 0, 1},
		{"the beginning", tracks, 1, 0},
	} {
		x, err := NewIntake(c.tracks, alloc, 4<<20, func(f live.Frame) error {
			f.Payload.Release()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		now := 0
		x.Bound(func(n int) error {
			now = n
			return nil
		})
		at := time.Now()
		for i := range uint16(waiting) {
			b := alloc.Get(12 + size)
			clear(b.Bytes())
			b.Bytes()[0], b.Bytes()[1] = 0x80, c.tracks[c.track].PayloadType
			binary.BigEndian.PutUint16(b.Bytes()[2:], i+min(i, 1)*c.gap)
			if err := x.Push(c.track, b, at); err != nil {
				t.Fatal(err)
			}
		}
		if least := (waiting - 2) * size; now < least || now > least+3*size {
			t.Errorf("%s: %d bytes are reported of %d", c.name, now, waiting*size)
		}
		if x.Close(); now != 0 {
			t.Errorf("%s: %d bytes at the end", c.name, now)
		}
	}
}
