package wire

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"sync"
)

// A blocks is an open file with the buffers of those who read and write it.
type blocks struct {
	*storage
	file    *os.File
	buffers sync.Pool
}

func (s *storage) open() (*blocks, error) {
	flags := os.O_RDONLY
	if s.options.writes() {
		flags = os.O_WRONLY
	}
	if s.options.Direct {
		flags |= directFlag
	}
	f, err := os.OpenFile(s.path, flags, 0)
	if err != nil {
		return nil, err
	}
	return &blocks{storage: s, file: f}, nil
}

// buffer returns one of n bytes, with random contents.
func (b *blocks) buffer(n int) *[]byte {
	if p, ok := b.buffers.Get().(*[]byte); ok && cap(*p) >= n {
		*p = (*p)[:n]
		return p
	}
	p := aligned(n)
	rand.Read(p)
	return &p
}

// Call reads or writes a block. It does not end with ctx.
func (b *blocks) Call(_ context.Context, r *Request) (Outcome, error) {
	size := int64(r.Size)
	count := b.size / size
	if count == 0 {
		return Outcome{}, fmt.Errorf("load: a block of %d bytes in the %d of %s", size, b.size, b.path)
	}
	var at int64
	if strings.HasPrefix(b.options.Pattern, "rand") {
		at = int64(scatter(uint64(r.Conn)<<40^r.Seq)%uint64(count)) * size
	} else {
		at = (b.next.Add(size) - size) % (count * size)
	}
	buf := b.buffer(r.Size)
	defer b.buffers.Put(buf)
	if !b.options.writes() {
		n, err := b.file.ReadAt(*buf, at)
		return Outcome{Done: true, Payload: n}, err
	}
	n, err := b.file.WriteAt(*buf, at)
	if err == nil && b.options.Sync > 0 && b.writes.Add(1)%int64(b.options.Sync) == 0 {
		err = b.file.Sync()
	}
	return Outcome{Done: true, Payload: n}, err
}

func (b *blocks) Close() error { return b.file.Close() }
