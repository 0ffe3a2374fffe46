package netsim

import "io"

// TableLen is how many sizes are drawn. After so many Reads a Reader begins
// its table again.
const TableLen = 4096

// A Table holds the sizes of TableLen reads. It never changes, so that any
// number of Readers, on any goroutines, can share one: it is 8 KiB, which a
// measurement with many streams does not want once for each.
type Table struct {
	less1 [TableLen]uint16 // size - 1, for 1 to MaxRead to fit
}

// Draw fills a table for c from the seed. It panics if c is not between 1 and
// MaxRead bytes.
func Draw(c Condition, seed uint64) *Table {
	c.check()
	rnd := newRand(seed, 0)
	t := new(Table)
	for i := range t.less1 {
		t.less1[i] = uint16(c.draw(rnd) - 1)
	}
	return t
}

// Size returns the i-th size, counted around the table: Size(TableLen) is
// Size(0).
func (t *Table) Size(i uint) int { return int(t.less1[i%TableLen]) + 1 }

// Reader returns a Reader over src that begins at the table's entry start
// (modulo TableLen), so that readers that share a table need not run in step.
func (t *Table) Reader(src io.Reader, start uint) *Reader {
	if src == nil {
		panic("netsim: a Reader of nil")
	}
	return &Reader{table: t, at: start, src: src}
}

// A Reader passes Reads on to another reader with no more room than the next
// size of its table, as if the network had brought no more. It draws nothing,
// allocates nothing and copies nothing by itself: a Read costs one indirect
// call and one load more than without it, a few nanoseconds.
//
// The sizes repeat after TableLen Reads, so a long measurement sees the same
// 4,096 sizes many times, in the same order. That is the price of not drawing
// inside the clock; to vary them, repeat the measurement with other seeds.
type Reader struct {
	table *Table
	at    uint
	src   io.Reader
}

// NewReader returns a Reader over src whose sizes are drawn for c from the
// seed. It panics if c is not between 1 and MaxRead bytes.
func NewReader(src io.Reader, c Condition, seed uint64) *Reader {
	return Draw(c, seed).Reader(src, 0)
}

// Read reads once from the source, into no more than the first bytes of p as
// the next size allows, and returns what the source returned. It borrows p
// until it returns, as far as the source does.
func (r *Reader) Read(p []byte) (int, error) {
	if r.table == nil {
		panic("netsim: Reader that NewReader and Table.Reader have not made")
	}
	n := int(r.table.less1[r.at%TableLen]) + 1
	r.at++
	if n < len(p) {
		p = p[:n]
	}
	return r.src.Read(p)
}

// Reset makes r read from src, from the beginning of its table.
func (r *Reader) Reset(src io.Reader) { r.src, r.at = src, 0 }
