package sluice_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// writing is a run of calls on a writer beside a plain model of it: all the
// bytes that were written. What is lent to the writer is spoiled as soon as
// the call returns, and what is transferred when it is released.
type writing struct {
	t     testing.TB
	dice  dice
	w     *sluice.BufWriter
	a     *mem.Allocator
	bound int
	want  []byte
	given int // Bufs of foreign bytes
	freed int // of them, those that came back
	log   []string
}

// newWriting takes the bound that w was made with; 0 is the default, of which
// the model knows the largest.
func newWriting(t testing.TB, d dice, w *sluice.BufWriter, a *mem.Allocator, bound int) *writing {
	if bound == 0 {
		bound = 128 << 10
	}
	return &writing{t: t, dice: d, w: w, a: a, bound: bound}
}

func (m *writing) note(format string, args ...any) {
	if len(m.log) == 40 {
		m.log = m.log[1:]
	}
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

func (m *writing) fatalf(format string, args ...any) {
	m.t.Helper()
	m.t.Fatalf("after %d bytes: %s\nafter: %s", len(m.want), fmt.Sprintf(format, args...), strings.Join(m.log, "; "))
}

// size draws a number of bytes: mostly small, often next to where the writer
// changes its ways.
func (m *writing) size() int {
	switch m.dice.pick(10) {
	case 0:
		return 0
	case 1:
		return 4<<10 + m.dice.pick(3) - 1
	case 2:
		return 8<<10 + m.dice.pick(3) - 1
	case 3:
		return 16<<10 + m.dice.pick(3) - 1
	case 4:
		return m.dice.pick(70_000)
	}
	return m.dice.pick(300)
}

// fresh draws n bytes and says that they are expected.
func (m *writing) fresh(n int) []byte {
	p := make([]byte, n)
	seed := byte(m.dice.pick(256))
	for i := range p {
		p[i] = seed + byte(i) + byte(i>>8)
	}
	m.want = append(m.want, p...)
	return p
}

func (m *writing) all(op string, n, want int, err error) {
	if err != nil || n != want {
		m.fatalf("%s of %d bytes: %d, %v", op, want, n, err)
	}
}

func (m *writing) ok(op string, err error) {
	if err != nil {
		m.fatalf("%s: %v", op, err)
	}
}

// writes are the calls of a history. Each writes something, or flushes.
var writes = []func(*writing){
	(*writing).write, (*writing).write, (*writing).writeString, (*writing).writeByte, (*writing).writeFrame,
	(*writing).writeFrame, (*writing).writeBuf, (*writing).writeBuf, (*writing).writeMemory, (*writing).readFrom,
	(*writing).flush,
}

func (m *writing) step() {
	writes[m.dice.pick(len(writes))](m)
	if m.t.Failed() {
		m.t.FailNow()
	}
	if got := int64(m.w.Buffered()) + sluice.WrittenBy(m.w); got != int64(len(m.want)) {
		m.fatalf("%d bytes wait and %d went out", m.w.Buffered(), sluice.WrittenBy(m.w))
	}
	if n := m.w.Buffered(); n > m.bound {
		m.fatalf("%d bytes wait, of %d", n, m.bound)
	}
}

func (m *writing) write() {
	p := m.fresh(m.size())
	m.note("Write %d", len(p))
	n, err := m.w.Write(p)
	m.all("Write", n, len(p), err)
	clear(p)
}

func (m *writing) writeString() {
	p := string(m.fresh(m.size()))
	m.note("WriteString %d", len(p))
	n, err := m.w.WriteString(p)
	m.all("WriteString", n, len(p), err)
}

func (m *writing) writeByte() {
	for _, c := range m.fresh(1 + m.dice.pick(20)) {
		m.ok("WriteByte", m.w.WriteByte(c))
	}
	m.note("WriteByte")
}

func (m *writing) writeFrame() {
	f := frameForms[m.dice.pick(len(frameForms))]
	n := m.size()
	if n > f.most {
		n = m.dice.pick(f.most + 1)
	}
	m.want = f.head(m.want, n)
	m.note("WriteFrame %s %d", f.name, n)
	m.ok("WriteFrame", m.w.WriteFrame(f.prefix, f.order, m.buf(n)))
}

// buf makes a Buf of n expected bytes: from the allocator, which spoils it
// when it comes home, or of foreign bytes.
func (m *writing) buf(n int) mem.Buf {
	p := m.fresh(n)
	if m.dice.pick(2) == 0 {
		b := m.a.Get(n)
		copy(b.Bytes(), p)
		return b
	}
	m.given++
	freed := false
	return mem.Wrap(p, func() {
		if freed {
			m.t.Error("released twice")
		}
		freed = true
		m.freed++
		clear(p)
	})
}

func (m *writing) writeBuf() {
	n := m.size()
	m.note("WriteBuf %d", n)
	m.ok("WriteBuf", m.w.WriteBuf(m.buf(n)))
}

func (m *writing) writeMemory() {
	list := mem.NewMemory()
	for range m.dice.pick(5) {
		list.Append(m.buf(m.size()))
	}
	m.note("WriteMemory %d", list.Size)
	m.ok("WriteMemory", m.w.WriteMemory(list))
}

func (m *writing) readFrom() {
	p := m.fresh(m.size())
	m.note("ReadFrom %d", len(p))
	most := 1 + m.dice.pick(5000)
	n, err := m.w.ReadFrom(&pieces{data: bytes.Clone(p), next: every(most)})
	m.all("ReadFrom", int(n), len(p), err)
}

func (m *writing) flush() {
	m.note("Flush")
	m.ok("Flush", m.w.Flush())
	if n := m.w.Buffered(); n != 0 {
		m.fatalf("%d bytes wait after Flush", n)
	}
	if n := holds(m.a); n != 0 {
		m.fatalf("%d blocks are held after Flush", n)
	}
	if m.freed != m.given {
		m.fatalf("%d Bufs of %d were released after Flush", m.freed, m.given)
	}
}

// same fails the test when what arrived is not what was written.
func (m *writing) same(got []byte) {
	m.t.Helper()
	if bytes.Equal(got, m.want) {
		return
	}
	i := 0
	for i < min(len(got), len(m.want)) && got[i] == m.want[i] {
		i++
	}
	m.t.Fatalf("%d bytes of %d arrived, the same up to byte %d", len(got), len(m.want), i)
}

func TestRandomWritesArriveWholeAndInOrder(t *testing.T) {
	seed := sluicetest.Seed(t)
	for _, s := range sinks() {
		for i, bound := range []int{0, 1, 100, 5000, 200_000} {
			if bound == 1 && s.name != "buffer" {
				continue // as many system calls as bytes, nothing new
			}
			t.Run(fmt.Sprintf("%s/Bound %d", s.name, bound), func(t *testing.T) {
				for run := range rounds(5) {
					a := paranoid(t)
					d := chance{rand.New(rand.NewPCG(seed, uint64(10*i+run)))}
					w, end := s.open(t)
					m := newWriting(t, d, writerOf(t, a, bound, w), a, bound)
					steps := 150
					if bound == 1 {
						steps = 15 // with a write for each byte
					}
					for range steps {
						m.step()
					}
					m.flush()
					m.same(end())
				}
			})
		}
	}
}

func TestWriterIsReusedAfterReset(t *testing.T) {
	seed := sluicetest.Seed(t)
	a := paranoid(t)
	w := writerOf(t, a, 0, nil)
	for i := range 20 {
		d := chance{rand.New(rand.NewPCG(seed, uint64(i)))}
		var out bytes.Buffer
		w.Reset(&out)
		m := newWriting(t, d, w, a, 0)
		for range d.pick(30) {
			m.step()
		}
		if i%3 == 0 { // what waits is dropped by the next Reset
			m.want = m.want[:sluice.WrittenBy(w)]
		} else {
			m.flush()
		}
		m.same(out.Bytes())
	}
}
