package rtpmedia

import (
	"slices"
	"testing"
	"time"

	"github.com/pion/rtp"

	"github.com/sluice-go/sluice/mem"
)

// A packet that is sent again takes its place within the time for that; after it the
// others go on without it.
func TestOrderHoldsForRepair(t *testing.T) {
	const within = 200 * time.Millisecond
	var got []uint16
	gaps := 0
	o := order{repair: within}
	push := func(number uint16, at time.Duration) {
		o.arrived(time.Unix(1000, 0).Add(at), 90000, 0)
		o.push(rtp.Header{SequenceNumber: number}, mem.Wrap([]byte{1}, nil), func(h rtp.Header, b mem.Buf, gap bool) {
			b.Release()
			got = append(got, h.SequenceNumber)
			if gap {
				gaps++
			}
		})
	}
	push(65000, 0)
	for i := range uint16(700) { // across the wrap of numbers
		push(65002+i, time.Duration(i)*100*time.Microsecond)
	}
	if len(got) != 1 {
		t.Fatalf("%d packets before the repair", len(got))
	}
	push(65001, 150*time.Millisecond)
	if len(got) != 702 || gaps != 0 || !slices.IsSortedFunc(got, func(a, b uint16) int { return int(int16(a - b)) }) {
		t.Fatalf("%d packets, %d gaps", len(got), gaps)
	}
	next := got[len(got)-1] + 1
	push(next+1, 300*time.Millisecond)
	push(next+2, 499*time.Millisecond)
	if len(got) != 702 {
		t.Fatalf("given up after 199 ms")
	}
	push(next+3, 500*time.Millisecond)
	if len(got) != 705 || gaps != 1 || o.lost != 1 {
		t.Fatalf("%d packets, %d gaps, %d lost", len(got), gaps, o.lost)
	}
}

// Packets of padding alone, by which browsers probe a line, take numbers: nothing is held
// for them, or counted as lost, and what is missing before them is still missing after.
func TestPaddingAloneIsNoLoss(t *testing.T) {
	f, err := ParseFormat(true, 96, "H264/90000", nil)
	if err != nil {
		t.Fatal(err)
	}
	units := 0
	c := NewCollector(f, mem.New(mem.Options{}), 1<<20, func(s Sample) error {
		units++
		s.Packed.Release()
		return nil
	})
	defer c.Close()
	c.order.repair = time.Minute
	number := uint16(0)
	push := func(h rtp.Header, payload []byte, padding byte) {
		t.Helper()
		h.Version, h.PayloadType, h.SequenceNumber, h.Padding = 2, 96, number, padding > 0
		p, err := (&rtp.Packet{Header: h, PaddingSize: padding, Payload: payload}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Push(mem.Wrap(p, nil), time.Unix(1000, 0)); err != nil {
			t.Fatal(err)
		}
		number++
	}
	push(rtp.Header{}, nil, 255) // before all others
	for i := range 3 {
		at := uint32(i * 3600)
		push(rtp.Header{Timestamp: at, Marker: true}, []byte{0x65, 1, 2, 3}, 4)
		for range 5 {
			push(rtp.Header{Timestamp: at}, nil, 224)
		}
		push(rtp.Header{Timestamp: at}, nil, 0)
	}
	if units != 3 || c.order.lost != 0 || c.order.waiting != 0 {
		t.Errorf("%d pictures, %d packets lost, %d held", units, c.order.lost, c.order.waiting)
	}
	c.order.repair = 0
	number++ // the first half of a picture
	push(rtp.Header{Timestamp: 10800}, nil, 224)
	push(rtp.Header{Timestamp: 10800, Marker: true}, []byte{0x7c, 0x45, 1, 2}, 0)
	for range window {
		push(rtp.Header{Timestamp: 14400, Marker: true}, []byte{0x65, 1, 2, 3}, 0)
	}
	if l := c.Losses(); l.Packets != 1 || l.Units != 1 || units < 4 {
		t.Errorf("%+v, %d pictures", l, units)
	}
}
