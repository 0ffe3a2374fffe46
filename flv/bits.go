package flv

// bits reads a decoder's configuration bit by bit, the highest of a byte first.
// Past the end it reads zeros and remembers it, so that a parser can look once.
type bits struct {
	p       []byte
	at      int
	cur     byte
	left    int  // bits of cur
	escaped bool // 00 00 03 stands for 00 00 (H.264, section 7.4.1)
	zeros   int  // in a row before at
	short   bool // more was read than there is
	bad     bool // a number that cannot be
}

func (b *bits) bit() uint32 {
	if b.left == 0 {
		b.cur, b.left = b.next(), 8
	}
	b.left--
	return uint32(b.cur >> b.left & 1)
}

func (b *bits) next() byte {
	if b.escaped && b.zeros >= 2 && b.at < len(b.p) && b.p[b.at] == 3 {
		b.at++
		b.zeros = 0
	}
	if b.at >= len(b.p) {
		b.short = true
		return 0
	}
	c := b.p[b.at]
	b.at++
	if c == 0 {
		b.zeros++
	} else {
		b.zeros = 0
	}
	return c
}

func (b *bits) flag() bool { return b.bit() != 0 }

// read reads n bits, up to 32.
func (b *bits) read(n int) uint32 {
	var v uint32
	for range n {
		v = v<<1 | b.bit()
	}
	return v
}

func (b *bits) skip(n int) {
	for range n {
		b.bit()
	}
}

// ue reads an Exp-Golomb number (H.264, section 9.1).
func (b *bits) ue() uint32 {
	n := 0
	for b.bit() == 0 {
		if n++; n > 31 || b.short {
			b.bad = true
			return 0
		}
	}
	return 1<<n - 1 + b.read(n)
}

// se reads a signed Exp-Golomb number (section 9.1.1).
func (b *bits) se() int32 {
	v := b.ue()
	if v&1 != 0 {
		return int32(v>>1) + 1
	}
	return -int32(v >> 1)
}
