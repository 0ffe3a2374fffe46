package sluice

import (
	"github.com/sluice-go/sluice/internal/sizing"
	"github.com/sluice-go/sluice/internal/source"
)

// takeMouth waits for the next slice of the channel.
func (b *BufReader) takeMouth() error {
	var p []byte
	var err error
	s, epoch := b.feed.Load().mouth, b.epoch
	b.beginIdle()
	if x := b.x; x != nil && x.ctx != nil {
		p, err = s.Next(x.ctx.Done(), x.timeout)
	} else if x != nil {
		p, err = s.Next(nil, x.timeout)
	} else {
		p, err = s.Next(nil, 0)
	}
	if b.epoch != epoch {
		panicReset()
	}
	b.endIdle()
	switch err {
	case nil:
		b.give(p)
	case source.ErrStopped:
		err = b.x.ctxErr()
	case source.ErrTimeout:
		err = errTimeout
	}
	return err
}

// give adds p, transferred.
func (b *BufReader) give(p []byte) {
	if !b.copied(p) {
		b.win.AddBytes(p)
	}
}

// copied adds a copy of p if that is short and has to wait: a record for each
// would cost more than the bytes.
func (b *BufReader) copied(p []byte) bool {
	w := &b.win
	if len(p) > sizing.CopyBelow || w.Idle() {
		return false
	}
	if len(p) > len(w.Room()) {
		s, err := b.alloc.TrySlab(b.size.Behind(len(p), w.Len()))
		if err != nil {
			return false
		}
		w.AddBlock(s, len(s.Bytes()))
	}
	w.Filled(copy(w.Room(), p))
	return true
}
