package rtpmedia

import "github.com/sluice-go/sluice/mem"

// aac takes access units behind a list of their sizes (RFC 3640, section 3.2).
func (c *Collector) aac(payload mem.Buf) error {
	p := payload.Bytes()
	f := &c.format
	if len(p) < 2 {
		return nil
	}
	if frame, ok := withoutADTS(p); ok {
		return c.frame(frame) // without the list
	}
	bits := u16(p)
	rest := 2 + (bits+7)/8
	if rest > len(p) || f.sizeBits == 0 {
		return nil
	}
	at := 16
	read := func(n int) int {
		v := 0
		for range n {
			v = v<<1 | int(p[at/8]>>(7-at%8)&1)
			at++
		}
		return v
	}
	timestamp := c.at
	const most = 64
	for n := 0; n < most && at-16+f.sizeBits+f.indexBits <= bits; n++ {
		size := read(f.sizeBits)
		if n == 0 {
			read(f.indexBits)
		} else {
			read(min(f.deltaBits, bits+16-at))
		}
		if size > len(p)-rest {
			// A fragment of a frame that is longer than a packet.
			if n > 0 || !c.keep(&payload, rest) {
				return nil
			}
			if c.length() >= size {
				return c.parts()
			}
			return nil
		}
		if n == 0 && !c.unit.empty() {
			if !c.keep(&payload, rest) || c.length() < size {
				return nil
			}
			return c.parts()
		}
		c.at = timestamp + uint32(n*f.Config.FrameLen*f.Clock/f.Config.Rate) // HE-AAC may have the clock of what it is built on
		frame, _ := withoutADTS(p[rest : rest+size])
		if err := c.frame(frame); err != nil {
			return err
		}
		rest += size
	}
	return nil
}

// mp3 takes a frame, several, or a fragment at its place in a frame (RFC 2250, section
// 3.5).
func (c *Collector) mp3(payload mem.Buf, offset int) error {
	const head = 4
	if offset != c.length() {
		c.abandon()
		if offset != 0 {
			return nil
		}
	}
	p := payload.Bytes()[head:]
	if offset == 0 {
		timestamp, n := c.at, 0
		for {
			size, ticks := mp3Frame(p)
			if size == 0 || size > len(p) {
				break
			}
			c.at = timestamp + uint32(n*ticks)
			if err := c.frame(p[:size]); err != nil {
				return err
			}
			n++
			p = p[size:]
		}
		if len(p) == 0 || n > 0 {
			return nil
		}
	}
	if !c.keep(&payload, head) {
		return nil
	}
	if size, _ := mp3Frame(c.unit.pieces[0]); size > 0 && c.length() >= size {
		return c.parts()
	}
	return nil
}

// ac3 takes whole frames or a fragment (RFC 4184, section 4.1).
func (c *Collector) ac3(payload mem.Buf) error {
	const head = 2
	p := payload.Bytes()
	if len(p) <= head {
		return nil
	}
	kind, count := p[0]&3, int(p[1])
	if kind == 0 {
		p = p[head:]
		timestamp := c.at
		for n := 0; n < count && len(p) > 0; n++ {
			size := ac3Frame(p)
			if size == 0 || size > len(p) {
				return nil
			}
			c.at = timestamp + uint32(n*c.format.Config.FrameLen)
			if err := c.frame(p[:size]); err != nil {
				return err
			}
			p = p[size:]
		}
		return nil
	}
	if kind != 3 {
		c.abandon()
	} else if c.unit.empty() {
		return nil
	}
	if !c.keep(&payload, head) {
		return nil
	}
	if size := ac3Frame(c.unit.pieces[0]); size > 0 && c.length() >= size {
		return c.parts()
	}
	return nil
}
