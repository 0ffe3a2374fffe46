package bytepool_test

import "testing"

// FuzzPools runs a script of calls on each pool of slices, beside a plain list
// of what is lent. Each lent slice must have the right size, an array of its
// own, and the bytes that its owner wrote; what is not whole must be refused.
func FuzzPools(f *testing.F) {
	f.Add(byte(3), byte(9), []byte{0, 0, 4, 0, 9, 0, 14, 19, 1, 2, 3})
	f.Add(byte(0), byte(1), []byte("get put get put put"))
	f.Add(byte(20), byte(20), []byte{0, 0, 0, 1, 6, 2, 7, 3, 8, 4, 9, 0, 0, 1, 1})
	f.Fuzz(func(t *testing.T, size, capacity byte, script []byte) {
		capacity = max(capacity, 1)
		size = min(size, capacity)
		for _, m := range makers {
			runScript(t, m, int(size), int(capacity), script)
		}
	})
}

func runScript(t *testing.T, m maker, size, capacity int, script []byte) {
	type loan struct {
		b    []byte
		mark byte
	}
	p := m.make(size, capacity)
	var lent []loan
	var last []byte // the slice that was put last
	for step, op := range script {
		pick := 0
		if len(lent) > 0 {
			pick = int(op/5) % len(lent)
		}
		switch {
		case op%5 == 0 && len(lent) < 64:
			b := p.Get()
			if len(b) != size || cap(b) != capacity {
				t.Fatalf("%s: step %d: Get returned length %d, capacity %d", m.name, step, len(b), cap(b))
			}
			for _, l := range lent {
				if array(l.b) == array(b) {
					t.Fatalf("%s: step %d: Get returned a slice that is lent", m.name, step)
				}
			}
			b = b[:capacity]
			for i := range b {
				b[i] = byte(step)
			}
			lent = append(lent, loan{b, byte(step)})
		case op%5 == 1 && len(lent) > 0:
			l := lent[pick]
			for i, x := range l.b {
				if x != l.mark {
					t.Fatalf("%s: step %d: byte %d of a lent slice is %#x, its owner wrote %#x", m.name, step, i, x, l.mark)
				}
			}
			lent = append(lent[:pick], lent[pick+1:]...)
			if last = l.b; !p.Put(l.b[:int(op)%(capacity+1)]) {
				t.Fatalf("%s: step %d: Put refused a slice that was lent", m.name, step)
			}
		case op%5 == 2 && len(lent) > 0:
			if b := lent[pick].b; p.Put(b[1:]) || p.Put(b[:capacity-1:capacity-1]) {
				t.Fatalf("%s: step %d: Put took a part of a slice", m.name, step)
			}
		case op%5 == 3:
			if p.Put(make([]byte, capacity+1+int(op))) || p.Put(nil) {
				t.Fatalf("%s: step %d: Put took a foreign size", m.name, step)
			}
		case op%5 == 4 && m.knows && last != nil:
			again := false
			for _, l := range lent {
				again = again || array(l.b) == array(last)
			}
			if !again && p.Put(last) {
				t.Fatalf("%s: step %d: Put took a slice twice", m.name, step)
			}
		}
	}
}
