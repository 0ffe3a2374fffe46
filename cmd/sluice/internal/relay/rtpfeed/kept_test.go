package rtpfeed

import (
	"encoding/binary"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// unitOf makes the packets of a picture with these numbers, in counted memory.
func unitOf(t *testing.T, alloc *mem.Allocator, numbers ...uint16) mem.Buf {
	t.Helper()
	var p []byte
	for _, n := range numbers {
		p = append(p, '$', 0, 0, 14, 0x80, 96)
		p = append(binary.BigEndian.AppendUint16(p, n), 0, 0, 0, 0, 0, 0, 0, 0, byte(n>>8), byte(n))
	}
	p = append(p, '$', 1, 0, 2, 0x80, 200) // a report
	b, err := alloc.TryGet(len(p))
	if err != nil {
		t.Fatal(err)
	}
	copy(b.Bytes(), p)
	return b
}

// The newest packets are found, across the wrap of numbers; older ones are not, and the
// memory of all goes back.
func TestKeptHasTheNewest(t *testing.T) {
	alloc := mem.Default()
	sluicetest.NoLeaks(t, alloc)
	k := newKept(64)
	const from, n = 65500, 200
	for i := 0; i < n; i += 4 {
		at := uint16(from + i)
		k.add(unitOf(t, alloc, at, at+1, at+2, at+3))
	}
	k.add(unitOf(t, alloc))
	for i := range n {
		number := uint16((from + i) % 65536)
		p, ok := k.Append([]byte{9}, number)
		if want := i >= n-64; ok != want {
			t.Fatalf("packet %d of %d: found %v", i, n, ok)
		}
		if ok && (len(p) != 15 || p[0] != 9 || binary.BigEndian.Uint16(p[3:]) != number || binary.BigEndian.Uint16(p[13:]) != number) {
			t.Fatalf("packet %d is %x", number, p)
		}
	}
	k.close()
	if _, ok := k.Append(nil, uint16((from+n-1)%65536)); ok {
		t.Error("a closed store has a packet")
	}
}

// Of pictures that come too late, those that others refer to are sent.
func TestOrderLeavesOutWhatNothingRefersTo(t *testing.T) {
	late := 0
	o := order{late: func() { late++ }}
	unit := func(at uint32, offset int32, key bool, nal byte) *au.Unit {
		return &au.Unit{Video: true, Codec: flv.CodecAVC, Time: at, Offset: offset, Key: key, Parts: [][]byte{{6}, {nal}}}
	}
	for _, c := range []struct {
		what string
		unit *au.Unit
		want bool
	}{
		{"key frame", unit(0, 80, true, 0x65), true},
		{"P ahead", unit(40, 160, false, 0x41), true},
		{"B that others refer to", unit(80, 40, false, 0x41), true},
		{"B", unit(120, -40, false, 0x01), false},
		{"B", unit(160, 0, false, 0x01), false},
		{"next P", unit(200, 160, false, 0x41), true},
		{"sound", &au.Unit{Time: 0}, true},
		{"key frame of a clock that has begun again", unit(0, 0, true, 0x65), true},
		{"P behind it", unit(40, 0, false, 0x01), true},
	} {
		if got := o.admits(c.unit); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
	if late != 1 {
		t.Errorf("late %d times, want one", late)
	}
	if n := o.leftOut.Load(); n != 2 {
		t.Errorf("%d left out, want 2", n)
	}
}

func TestDisposable(t *testing.T) {
	for _, c := range []struct {
		codec flv.FourCC
		parts [][]byte
		want  bool
	}{
		{flv.CodecAVC, nil, false},
		{flv.CodecAVC, [][]byte{{6}}, false},
		{flv.CodecAVC, [][]byte{{6}, {1}}, true},
		{flv.CodecAVC, [][]byte{{1}, {0x21}}, false},
		{flv.CodecHEVC, [][]byte{{0 << 1, 1}}, true},
		{flv.CodecHEVC, [][]byte{{1 << 1, 1}}, false},
		{flv.CodecHEVC, [][]byte{{8 << 1, 1}, {39 << 1, 1}}, true},
		{flv.CodecHEVC, [][]byte{{19 << 1, 1}}, false},
		{flv.CodecHEVC, [][]byte{{16 << 1, 1}}, false},
		{flv.CodecVP9, [][]byte{{1}}, false},
	} {
		if got := au.Disposable(c.codec, c.parts); got != c.want {
			t.Errorf("%v %x: %v", c.codec, c.parts, got)
		}
	}
}
