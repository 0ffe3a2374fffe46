package tlsfed

import "github.com/sluice-go/sluice/mem"

// backlog is bytes that wait, in counted memory: room for twice as many as have come,
// 1 KiB at least, and none when none wait.
type backlog struct {
	room     mem.Buf
	from, to int
}

func (b *backlog) len() int { return b.to - b.from }

// add appends p, borrowed. The error is mem.ErrBudget.
func (b *backlog) add(a *mem.Allocator, p []byte) error {
	if b.room.Valid() && b.room.Len()-b.to >= len(p) {
		b.to += copy(b.room.Bytes()[b.to:], p)
		return nil
	}
	room, err := a.TryGet(max(2*(b.len()+len(p)), 1<<10))
	if err != nil {
		return err
	}
	n := 0
	if b.room.Valid() {
		n = copy(room.Bytes(), b.room.Bytes()[b.from:b.to])
		b.room.Release()
	}
	n += copy(room.Bytes()[n:], p)
	b.room, b.from, b.to = room, 0, n //sluice:moved
	return nil
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
