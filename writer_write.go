package sluice

import "github.com/sluice-go/sluice/mem"

// Write takes p, borrowed until it returns: what is short is copied; what is
// 8 KiB or longer, or longer than Options.BufLen, is sent at once, with what waits.
func (b *BufWriter) Write(p []byte) (int, error) {
	if b.err == nil && len(p) <= len(b.buf)-b.e && len(p) < directFrom {
		b.e += copy(b.buf[b.e:], p)
		return len(p), nil
	}
	return b.writeSlow(p)
}

func (b *BufWriter) writeSlow(p []byte) (int, error) {
	if len(p) < directFrom && len(p) <= b.bound {
		return copyIn(b, p)
	}
	if err := b.failed(); err != nil {
		return 0, err
	}
	b.seal()
	before := b.waiting.size
	b.waiting.add(p)
	out, err := b.flush("Write", false)
	return min(max(0, int(out)-before), len(p)), err
}

// copyIn copies p into blocks, whatever its length. It keeps nothing of p, so
// that a caller's array need not go to the heap.
func copyIn[T []byte | string](b *BufWriter, p T) (int, error) {
	if err := b.failed(); err != nil {
		return 0, err
	}
	done := 0
	for done < len(p) {
		if b.e == len(b.buf) {
			if err := b.grow(len(p) - done); err != nil {
				return done, err
			}
		}
		n := copy(b.buf[b.e:], p[done:])
		b.e += n
		done += n
	}
	return done, nil
}

// WriteString is Write of a string.
func (b *BufWriter) WriteString(s string) (int, error) {
	if b.err == nil && len(s) <= len(b.buf)-b.e {
		b.e += copy(b.buf[b.e:], s)
		return len(s), nil
	}
	return copyIn(b, s)
}

// WriteByte writes one byte.
func (b *BufWriter) WriteByte(c byte) error {
	if b.e == len(b.buf) || b.err != nil {
		if err := b.failed(); err != nil {
			return err
		}
		if err := b.grow(1); err != nil {
			return err
		}
	}
	b.buf[b.e] = c
	b.e++
	return nil
}

// WriteBuf takes p, transferred, also when it fails. A short one is copied and
// released at once: below 4 KiB over TCP and Unix sockets, below 64 KiB
// elsewhere, where that costs less. A longer one is released when it is out.
func (b *BufWriter) WriteBuf(p mem.Buf) error {
	if q := p.Bytes(); b.err == nil && len(q) < b.copyBelow && len(q) <= len(b.buf)-b.e {
		b.e += copy(b.buf[b.e:], q)
		p.Release()
		return nil
	}
	return b.writeBufSlow(p)
}

func (b *BufWriter) writeBufSlow(p mem.Buf) error {
	if b.failed() != nil || p.Len() < b.copyBelow {
		// Deferred, because the writer below may panic.
		defer p.Release()
		_, err := copyIn(b, p.Bytes())
		return err
	}
	b.seal()
	b.addBuf(p)
	return b.bounded()
}

// WriteMemory takes m, transferred, also when it fails: it is released when it
// is out.
func (b *BufWriter) WriteMemory(m *mem.Memory) error {
	if m == nil {
		panic("sluice: BufWriter.WriteMemory(nil)")
	}
	if err := b.failed(); err != nil {
		m.Release()
		return err
	}
	if m.Size == 0 {
		m.Release()
		return nil
	}
	b.seal()
	b.addMemory(m)
	return b.bounded()
}

// bounded flushes when the limit of waiting bytes is reached. Otherwise it limits
// the bytes that may still be copied.
func (b *BufWriter) bounded() error {
	room := b.room()
	if room == 0 {
		_, err := b.flush("Flush", false)
		return err
	}
	b.buf = b.buf[:min(len(b.buf), b.e+room)]
	return nil
}
