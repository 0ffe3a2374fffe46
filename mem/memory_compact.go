package mem

// Compact copies those bytes of m into smaller blocks that keep large ones,
// and reports whether it did. The rule is Buf.Compact's (a block of at least
// 4 KiB, at least eight times what is kept of it), where neighbouring parts of
// one block count as one: 500 chunks of a 64 KiB block stay where they are.
// Neighbours that are copied become one part. Bytes handed out earlier keep
// their old place and are borrowed no longer.
func (m *Memory) Compact() bool {
	m.intact("Compact")
	m.unwritten("Compact")
	// Parts below w are done, those from i on are not, and those between have gone.
	w, i := 0, 0
	defer func() { m.cut(w, i) }() // also when a release panics
	done := false
	for i < len(m.bufs) {
		end, size := m.loose(i)
		if end == i {
			end = m.runEnd(i)
			if w < i {
				copy(m.bufs[w:], m.bufs[i:end])
				copy(m.Buffers[w:], m.Buffers[i:end])
			}
			w, i = w+end-i, end
			continue
		}
		small := m.merged(i, end, size)
		first, rest := m.bufs[i], m.bufs[i+1:end]      //sluice:moved
		m.bufs[w], m.Buffers[w] = small, small.Bytes() //sluice:moved
		w, i, done = w+1, end, true
		release(first, rest)
	}
	return done
}

// release releases first and rest, all of them also when a release panics.
func release(first Buf, rest []Buf) {
	defer first.Release()
	releaseAll(rest)
}

// runEnd returns where the run of parts that begins at i and lies in one
// block ends.
func (m *Memory) runEnd(i int) int {
	b := m.bufs[i].c.block
	for i < len(m.bufs) && m.bufs[i].c.block == b {
		i++
	}
	return i
}

// loose returns the end and the bytes of the parts from i on that are worth
// copying, in runs that do so, up to the largest class: beyond it nothing is
// gained by putting them together.
func (m *Memory) loose(i int) (end, size int) {
	end = i
	for end < len(m.bufs) {
		next, n := m.runEnd(end), 0
		for _, p := range m.Buffers[end:next] {
			n += len(p)
		}
		if !worthCopying(len(m.bufs[end].c.block.data), n) || size > 0 && size+n > maxClass {
			break
		}
		end, size = next, size+n
	}
	return end, size
}

// merged returns a copy of parts i up to end, size bytes, in one Buf.
func (m *Memory) merged(i, end, size int) Buf {
	small := m.bufs[i].c.block.allocator().Get(size)
	p := small.Bytes()
	for _, q := range m.Buffers[i:end] {
		p = p[copy(p, q):]
	}
	return small
}

// clip drops the parts before part and off bytes of it.
func (m *Memory) clip(part, off int) {
	for _, p := range m.Buffers[:part] {
		m.Size -= len(p)
	}
	if off > 0 {
		b := &m.bufs[part]
		rest := b.RetainedSlice(off, b.Len())
		b.Release()
		*b = rest //sluice:moved
		m.Buffers[part] = m.Buffers[part][off:]
		m.Size -= off
	}
	defer m.cutFront(part) // also when a release panics
	releaseAll(m.bufs[:part])
}

// movedParts is how many parts are moved to the front of the list rather than
// give its front up: a short list then stays in the room that it has.
const movedParts = 64

// cutFront is cut of the first n parts. What it costs does not grow with the
// parts that stay, or a long Memory clipped part by part would cost the square.
func (m *Memory) cutFront(n int) {
	if rest := len(m.bufs) - n; rest <= max(n, movedParts) {
		m.cut(0, n)
		return
	}
	clear(m.bufs[:n])
	clear(m.Buffers[:n])
	m.bufs, m.Buffers = m.bufs[n:], m.Buffers[n:]
}

// cut takes parts i up to end, whose Bufs are gone, out of the list.
func (m *Memory) cut(i, end int) {
	copy(m.bufs[i:], m.bufs[end:])
	copy(m.Buffers[i:], m.Buffers[end:])
	n := len(m.bufs) - (end - i)
	clear(m.bufs[n:])
	clear(m.Buffers[n:])
	m.bufs, m.Buffers = m.bufs[:n], m.Buffers[:n]
}
