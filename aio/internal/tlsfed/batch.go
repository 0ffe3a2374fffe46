package tlsfed

import "github.com/sluice-go/sluice/mem"

// batch is the records of one Write, or of several at the same time, which go out
// together: crypto/tls writes them one at a time.
type batch struct {
	writers int // calls of Session.Write under way
	size    int // of the next block, in bytes
	room    mem.Slab
	used    int
	// beyond: the Write found nothing waiting, so that all of it may wait.
	beyond bool
}

const (
	// mostBatch is the size in bytes of the largest block for records.
	mostBatch = 64 << 10
	// overhead is the most bytes that a record has besides its content: header, IV,
	// MAC of SHA-384 and padding of TLS 1.2.
	overhead = headerLen + 16 + 48 + 16
)

// begin is for a Write of n bytes.
func (b *batch) begin(out Output, n int) {
	if b.writers++; b.writers == 1 {
		b.beyond = out.Empty()
	}
	b.size = min(n+(n/oneRecord+1)*overhead, mostBatch)
}

// add appends a record.
func (b *batch) add(a *mem.Allocator, out Output, p []byte) error {
	if b.room.Valid() && len(p) > len(b.room.Bytes())-b.used {
		if err := b.flush(out, b.beyond); err != nil {
			return err
		}
	}
	if !b.room.Valid() {
		b.room = a.Slab(max(b.size, len(p)))
	}
	b.used += copy(b.room.Bytes()[b.used:], p)
	return nil
}

// end is for a Write that ends.
func (b *batch) end(out Output) error {
	b.writers--
	beyond := b.beyond
	b.beyond = false
	if !b.room.Valid() {
		return nil
	}
	return b.flush(out, beyond)
}

func (b *batch) flush(out Output, beyond bool) error {
	whole := b.room.Cut(0, b.used)
	b.room.Release()
	b.used = 0
	return out.WriteRecordBuf(whole, beyond) //sluice:moved
}
