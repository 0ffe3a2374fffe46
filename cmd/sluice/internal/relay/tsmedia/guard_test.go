package tsmedia

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/mem"
)

// endless are packets of units that never end, on many PIDs in their order.
type endless struct {
	pids, sent int
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for len(p)-n >= packetLen {
		packet := p[n : n+packetLen]
		clear(packet)
		pid := 0x100 + e.sent%e.pids
		packet[0], packet[1], packet[2], packet[3] = syncByte, byte(pid>>8), byte(pid), 0x10|byte(e.sent/e.pids)&15
		if e.sent < e.pids {
			packet[1] |= 0x40
		}
		e.sent++
		n += packetLen
	}
	return n, nil
}

// However many streams there are in one, what is collected of units without an end is
// bounded by the length of two, and reported.
func TestUnitsWithoutAnEndAreBoundedTogether(t *testing.T) {
	const limit = 1 << 20
	most := int64(2*(limit+limit/8+16<<10) + 64<<10)
	for _, pids := range []int{1, 2, maxPIDs} {
		high, sum := 0, int64(0)
		g := newGuard(&endless{pids: pids}, limit, func(n int) error {
			high = max(high, n)
			return nil
		})
		g.probing = -1
		var err error
		for room := make([]byte, 100*packetLen); err == nil && sum < 10*most; {
			var n int
			n, err = g.Read(room)
			sum += int64(n)
		}
		if !errors.Is(err, ErrTooLong) || sum > most {
			t.Errorf("%d PIDs: %v after %d bytes, at most %d", pids, err, sum, most)
		}
		if int64(high) < sum-2*holdStep-1000*packetLen {
			t.Errorf("%d PIDs: %d bytes were reported of %d", pids, high, sum)
		}
	}
	full := errors.New("full")
	g := newGuard(&endless{pids: 1}, limit, func(int) error { return full })
	g.probing = -1
	if n, err := io.Copy(io.Discard, g); !errors.Is(err, full) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// What the work for a stream is does not depend on how long its units are: with each packet the library read again
// all that had come of a picture, or of a table, and one of some MiB took a processor for a minute.
func TestLongUnitsTakeNoMoreTime(t *testing.T) {
	const size = 2 << 20
	picture := []byte{0, 0, 1, 0xe0, 0, 0, 0x80, 0x80, 5, 0x21, 0, 1, 0, 1, 0, 0, 1, 0x65}
	table := []byte{0} // what fills it are sections that never end where a packet does
	units := func(pid byte, begin []byte, packets int) []byte {
		fill := bytes.Repeat([]byte{0x6f}, packetLen)
		var ts []byte
		for i := range size / packetLen {
			packet := []byte{syncByte, 0, pid, 0x10 | byte(i&15)}
			if i%packets == 0 {
				packet[1] = 0x40
				packet = append(packet, begin...)
			}
			ts = append(append(ts, packet...), fill[:packetLen-len(packet)]...)
		}
		return ts
	}
	read := func(ts []byte) time.Duration {
		begun := time.Now()
		if err := Read(bytes.NewReader(ts), Options{Alloc: mem.Default(), MaxFrame: 8 << 20}); err != io.EOF {
			t.Fatal(err)
		}
		return time.Since(begun)
	}
	for name, u := range map[string]struct {
		pid   byte
		begin []byte
	}{"a picture": {0x50, picture}, "a table": {0, table}} {
		long, short := units(u.pid, u.begin, size), units(u.pid, u.begin, 40)
		const tries, most = 5, 8
		var one, many time.Duration
		for range tries { // others use the processor too
			if one, many = read(long), read(short); one < most*many {
				break
			}
		}
		if one >= most*many {
			t.Errorf("%s: %v, in pieces %v", name, one, many)
		}
	}
}

// Data without units, beside what has them, is not kept, and ends nothing.
func TestDataWithoutUnitsIsLeftOut(t *testing.T) {
	const limit, packets = 64 << 10, 10_000
	var ts []byte
	for i := range packets {
		pid, number := byte(i%2), byte(i/2)
		packet := make([]byte, packetLen)
		copy(packet, []byte{syncByte, 1, pid, 0x10 | number&15, number, byte(i >> 9)})
		if pid == 0 && number%100 == 0 {
			packet[1] |= 0x40
		}
		ts = append(ts, packet...)
	}
	g := newGuard(bytes.NewReader(ts), limit, nil)
	g.probing = -1
	var out bytes.Buffer
	_, err := io.CopyBuffer(struct{ io.Writer }{&out}, g, make([]byte, 100*packetLen))
	if err != nil || out.Len() != packets/2*packetLen {
		t.Errorf("%d of %d bytes, %v", out.Len(), len(ts), err)
	}
	for packet := range slices.Chunk(out.Bytes(), packetLen) {
		if packet[2] != 0 {
			t.Fatal("data without units is passed on")
		}
	}
}
