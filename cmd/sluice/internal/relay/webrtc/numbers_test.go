package webrtc

import "testing"

// A viewer that begins with old pictures, is moved on and begins again sees numbers
// without a gap and timestamps that never go back.
func TestNumbersHaveNoGap(t *testing.T) {
	const tick = 3600
	newest := uint32(0xffffff00) // the clock wraps soon
	n := numbers{video: true, newest: func() uint32 { return newest }}
	first := newest - 50*tick
	var number uint16 = 65500
	var next uint16
	var at uint32
	put := func(made uint16, ts uint32, wantLive bool) {
		t.Helper()
		before := at
		gotNumber, gotAt, ok := n.place(made, ts)
		if !ok {
			t.Fatalf("a picture is left out")
		}
		if next != 0 && gotNumber != next {
			t.Fatalf("number %d, want %d", gotNumber, next)
		}
		if next != 0 && int32(gotAt-before) < 0 {
			t.Fatalf("timestamp %d goes back to %d", before, gotAt)
		}
		if wantLive != (gotAt == ts) {
			t.Fatalf("timestamp %d of %d: live %v", gotAt, ts, wantLive)
		}
		next, at = gotNumber+1, gotAt
		if p, ok := n.again(gotNumber); !ok || p.made != made || p.at != gotAt {
			t.Fatalf("packet %d is %+v, %v", gotNumber, p, ok)
		}
	}
	for i := range uint32(50) { // two packets each
		put(number, first+i*tick, false)
		put(number+1, first+i*tick, false)
		number += 2
	}
	if from := int32(at - newest); from < 0 || from > 100 {
		t.Fatalf("the last old picture is %d ticks behind the newest", from)
	}
	for i := range uint32(20) {
		newest += tick
		put(number, first+(51+i)*tick, true)
		number++
	}
	// The key frame of before again, and what came since.
	for i := range uint32(21) {
		put(65500+i16(i), first+i*tick, false)
	}
	// It is moved on to what is live.
	newest += 100 * tick
	put(number+500, newest-tick, false)
	put(number+501, newest, false)
	newest += tick
	put(number+502, newest, true)
	if _, ok := n.again(next); ok {
		t.Error("a packet that was not sent is found")
	}
	if _, ok := n.again(next - keptNumbers - 1); ok {
		t.Error("a packet is found by the number of a newer one")
	}
}

func i16(n uint32) uint16 { return uint16(n) }

// Old sound is left out, and leaves no gap.
func TestNumbersLeaveOutOldSound(t *testing.T) {
	newest := uint32(96000)
	n := numbers{newest: func() uint32 { return newest }}
	sent := 0
	for i := range uint16(150) {
		ts := uint32(i) * 960
		newest = max(newest, ts)
		number, at, ok := n.place(i, ts)
		if ok != (ts > 96000) {
			t.Fatalf("sound at %d: %v", ts, ok)
		}
		if ok {
			if sent++; number != uint16(sent) || at != ts {
				t.Fatalf("packet %d has number %d, timestamp %d", sent, number, at)
			}
		}
	}
	// Again from the beginning: it was heard.
	if _, _, ok := n.place(0, 0); ok {
		t.Error("old sound is sent again")
	}
}

// A packet is sent again some times only.
func TestRepeatsAreBounded(t *testing.T) {
	n := numbers{newest: func() uint32 { return 0 }}
	for round := range 2 {
		out, _, ok := n.place(uint16(keptNumbers*round), 1)
		if !ok {
			t.Fatal("left out")
		}
		for repeat := range maxRepeats + 1 {
			_, ok := n.again(out)
			if ok != (repeat < maxRepeats) {
				t.Errorf("round %d, repeat %d: %v", round, repeat, ok)
			}
			n.repeated(out)
		}
		for i := range keptNumbers - 1 {
			n.place(uint16(keptNumbers*round+1+i), 1)
		}
	}
}
