package tlsfed

import "github.com/sluice-go/sluice/mem"

// backlog is bytes that wait, in counted memory: room for twice as many as have come,
// 1 KiB at least, and none when none wait.
type backlog struct {
	room     mem.Buf
	from, to int
}

func (b *backlog) len() int { return b.to - b.from }

// add appends p, borrowed. over and the error are those of Take.
func (b *backlog) add(a *mem.Allocator, p []byte) (over bool, err error) {
	if b.room.Valid() && b.room.Len()-b.to >= len(p) {
		b.to += copy(b.room.Bytes()[b.to:], p)
		return false, nil
	}
	room, over, err := Take(a, max(2*(b.len()+len(p)), 1<<10), len(p))
	if err != nil {
		return false, err
	}
	n := 0
	if b.room.Valid() {
		n = copy(room.Bytes(), b.room.Bytes()[b.from:b.to])
		b.room.Release()
	}
	n += copy(room.Bytes()[n:], p)
	b.room, b.from, b.to = room, 0, n //sluice:moved
	return over, nil
}

// take moves bytes from the front to p.
func (b *backlog) take(p []byte) int {
	if b.len() == 0 {
		return 0
	}
	n := copy(p, b.room.Bytes()[b.from:b.to])
	b.from += n
	if b.from == b.to {
		b.release()
	}
	return n
}

func (b *backlog) release() {
	if b.room.Valid() {
		b.room.Release()
	}
	b.from, b.to = 0, 0
}
