package sluice_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

func (h *history) next() {
	n := h.size()
	h.note("Next(%d)", n)
	p, err := h.r.Next(n)
	if h.atOnce("Next", n, err) {
		h.borrowed("Next", p)
		h.pos += n
	} else if p != nil {
		h.fatalf("Next failed and returned %d bytes", len(p))
	}
}

func (h *history) peek() {
	n := h.size()
	h.note("Peek(%d)", n)
	p, err := h.r.Peek(n)
	h.fixed = h.pos
	h.borrowed("Peek", p)
	want := n
	switch left := h.had - h.pos; {
	case transient(err):
		want = h.r.Buffered()
	case n <= left && err != nil:
		h.fatalf("Peek(%d): %v", n, err)
	case n > left:
		h.failed("Peek", err, h.end)
		want = left
	}
	if len(p) != want {
		h.fatalf("Peek(%d) returned %d bytes, want %d", n, len(p), want)
	}
}

func (h *history) view() {
	p := h.r.View()
	h.note("View of %d", len(p))
	h.borrowed("View", p)
	if b := h.r.Buffered(); len(p) > b {
		h.fatalf("View of %d bytes, %d are buffered", len(p), b)
	}
	if len(p) > 0 {
		n := h.dice.pick(len(p) + 1)
		h.note("Skip(%d) of the view", n)
		_ = h.r.Skip(n)
		h.pos += n
	}
}

func (h *history) readBuf() {
	n := h.size()
	h.note("ReadBuf(%d)", n)
	buf, err := h.r.ReadBuf(n)
	if h.atOnce("ReadBuf", n, err) {
		if buf.Len() != n {
			h.fatalf("ReadBuf(%d) returned %d bytes", n, buf.Len())
		}
		h.keep(keeping{buf: buf, at: h.pos, n: n})
		h.pos += n
	} else if buf.Valid() {
		h.fatalf("ReadBuf failed and returned a Buf")
	}
}

func (h *history) readBufs() {
	n := h.size()
	dst := make([]mem.Buf, h.dice.pick(3)*h.dice.pick(20))
	h.note("ReadBufs(%d) for %d", n, len(dst))
	if h.atOnce("ReadBufs", n, h.r.ReadBufs(n, dst)) {
		for i := range dst {
			if dst[i].Len() != n {
				h.fatalf("ReadBufs(%d) filled in %d bytes", n, dst[i].Len())
			}
			h.keep(keeping{buf: dst[i], at: h.pos, n: n}) //sluice:moved
		}
		h.pos += n
		return
	}
	for i := range dst {
		if dst[i] != (mem.Buf{}) {
			h.fatalf("ReadBufs failed and filled in a Buf")
		}
	}
}

func (h *history) readBytes() {
	n := h.size()
	h.note("ReadBytes(%d)", n)
	list, err := h.r.ReadBytes(n)
	if h.atOnce("ReadBytes", n, err) {
		if list.Size != n {
			h.fatalf("ReadBytes(%d) returned %d bytes", n, list.Size)
		}
		h.keep(keeping{list: list, at: h.pos, n: n})
		h.pos += n
	} else if list != nil {
		h.fatalf("ReadBytes failed and returned a Memory")
	}
}

func (h *history) keep(k keeping) {
	h.checkKept(k)
	h.kept = append(h.kept, k)
	if len(h.kept) > mostKept {
		h.release(0)
	}
}

func (h *history) checkKept(k keeping) {
	h.t.Helper()
	if k.list == nil {
		h.same("a Buf that is held", k.buf.Bytes(), k.at)
		return
	}
	at := k.at
	for _, p := range k.list.Buffers {
		h.same("a Memory that is held", p, at)
		at += len(p)
	}
}

func (h *history) release(i int) {
	h.t.Helper()
	k := h.kept[i]
	h.checkKept(k)
	if k.list != nil {
		k.list.Release()
	} else {
		k.buf.Release()
	}
	h.kept = slices.Delete(h.kept, i, i+1)
}

func (h *history) releaseOne() {
	if len(h.kept) > 0 {
		i := h.dice.pick(len(h.kept))
		h.note("Release of %d from byte %d", h.kept[i].n, h.kept[i].at)
		h.release(i)
	}
}

func (h *history) readRange() {
	n := h.size()
	h.note("ReadRange(%d)", n)
	at, got := h.pos, 0
	err := h.r.ReadRange(n, func(p []byte) {
		if len(p) == 0 || cap(p) != len(p) {
			h.fatalf("ReadRange passed %d bytes with capacity %d", len(p), cap(p))
		}
		h.same("ReadRange", p, at+got)
		got += len(p)
	})
	h.inPart("ReadRange", n, got, err)
}

func (h *history) skip() {
	n := h.size()
	h.note("Skip(%d)", n)
	err := h.r.Skip(n)
	got := n
	if err != nil {
		got = 0
		if e := (*sluice.Error)(nil); errors.As(err, &e) {
			got = int(e.Done)
		}
	}
	h.inPart("Skip", n, got, err)
}

func (h *history) discard() {
	n := h.size()
	h.note("Discard(%d)", n)
	left := h.had - h.pos
	got, err := h.r.Discard(n)
	h.pos += got
	if n > 0 {
		h.fixed = h.pos
	}
	switch {
	case transient(err):
		if got >= n {
			h.fatalf("Discard(%d): %d bytes, %v", n, got, err)
		}
	case n <= left:
		if got != n || err != nil {
			h.fatalf("Discard(%d): %d bytes, %v", n, got, err)
		}
	default:
		h.failed("Discard", err, h.end)
		if got != left {
			h.fatalf("Discard(%d) of %d bytes: %d", n, left, got)
		}
	}
}

func (h *history) readByte() {
	h.note("ReadByte")
	c, err := h.r.ReadByte()
	if h.atOnce("ReadByte", 1, err) {
		h.same("ReadByte", []byte{c}, h.pos)
		h.pos++
	}
}

func (h *history) unreadByte() {
	h.note("UnreadByte")
	err := h.r.UnreadByte()
	if h.pos == 0 || h.pos == h.fixed {
		if err != bufio.ErrInvalidUnreadByte {
			h.fatalf("UnreadByte: %v, want %v", err, bufio.ErrInvalidUnreadByte)
		}
		return
	}
	if err != nil {
		h.fatalf("UnreadByte: %v", err)
	}
	h.pos--
	h.fixed = h.pos
}

func (h *history) number() {
	n := 1 + h.dice.pick(4)
	kind := h.dice.pick(3)
	h.note("number %d of %d", kind, n)
	var got uint64
	var err error
	var op string
	switch kind {
	case 0:
		var v uint32
		op = "ReadBE32"
		v, err = h.r.ReadBE32(n)
		got = uint64(v)
	case 1:
		var v uint32
		op = "ReadLE32"
		v, err = h.r.ReadLE32(n)
		got = uint64(v)
	case 2:
		var v int
		op = "ReadBE"
		v, err = h.r.ReadBE(n)
		got = uint64(v)
		if errors.Is(err, sluice.ErrTooLong) && n == 4 && h.data[h.pos] >= 0x80 {
			return // an int of 32 bits
		}
	}
	if !h.atOnce(op, n, err) {
		return
	}
	var wide [8]byte
	if kind == 1 {
		copy(wide[:], h.data[h.pos:h.pos+n])
		if want := binary.LittleEndian.Uint64(wide[:]); got != want {
			h.fatalf("%s(%d) is %#x, want %#x", op, n, got, want)
		}
	} else {
		copy(wide[8-n:], h.data[h.pos:h.pos+n])
		if want := binary.BigEndian.Uint64(wide[:]); got != want {
			h.fatalf("%s(%d) is %#x, want %#x", op, n, got, want)
		}
	}
	h.pos += n
}

func (h *history) readFrame() {
	f := frameForms[h.dice.pick(len(frameForms))]
	limit := h.size()
	h.note("ReadFrame(%s, limit %d)", f.name, limit)
	buf, err := h.r.ReadFrame(f.prefix, f.order, limit)
	n, head, whole := frameHead(f, h.data[h.pos:h.had])
	switch {
	case whole && head == 0:
		if !transient(err) {
			h.failed("ReadFrame", err, sluice.ErrTooLong)
		}
	case whole && limit > 0 && n > uint64(limit) || n > 64<<20:
		if !transient(err) {
			h.failed("ReadFrame", err, sluice.ErrTooLong)
		}
	case h.atOnce("ReadFrame", head+int(n), err):
		if buf.Len() != int(n) {
			h.fatalf("ReadFrame returned %d bytes, want %d", buf.Len(), n)
		}
		h.pos += head
		if n == 0 {
			buf.Release()
			return
		}
		h.keep(keeping{buf: buf, at: h.pos, n: int(n)})
		h.pos += int(n)
		return
	}
	if buf.Valid() {
		h.fatalf("ReadFrame failed and returned a Buf")
	}
}

func (h *history) readSlice() {
	delim := h.data[h.dice.pick(len(h.data))]
	h.note("ReadSlice(%#x)", delim)
	p, err := h.r.ReadSlice(delim)
	if errors.Is(err, errSource) { // not one that passes
		h.borrowed("ReadSlice", p)
		h.pos += len(p)
		return
	}
	if transient(err) {
		if p != nil {
			h.fatalf("ReadSlice: %d bytes and %v", len(p), err)
		}
		return
	}
	h.borrowed("ReadSlice", p)
	left := h.data[h.pos:h.had]
	if i := bytes.IndexByte(left, delim); i >= 0 {
		if err != nil || len(p) != i+1 {
			h.fatalf("ReadSlice(%#x): %d bytes, %v; want %d", delim, len(p), err, i+1)
		}
		h.pos += i + 1
		return
	}
	h.failed("ReadSlice", err, h.end)
	want := 0
	if h.end == io.EOF {
		want = len(left)
	}
	if len(p) != want {
		h.fatalf("ReadSlice(%#x): %d bytes, %v; want %d", delim, len(p), err, want)
	}
	h.pos += want
}

func (h *history) readLine() {
	var p []byte
	var err error
	if h.dice.pick(2) == 0 {
		h.note("ReadLine")
		var s string
		s, err = h.r.ReadLine()
		p = []byte(s)
	} else {
		h.note("ReadLineSlice")
		p, err = h.r.ReadLineSlice()
		if len(p) > 0 {
			h.borrowed("ReadLineSlice", p)
		}
	}
	if transient(err) {
		if len(p) > 0 {
			h.fatalf("ReadLine: %d bytes and %v", len(p), err)
		}
		return
	}
	left := h.data[h.pos:h.had]
	i := bytes.IndexByte(left, '\n')
	switch {
	case i >= h.lines || i < 0 && len(left) >= h.lines:
		h.failed("ReadLine", err, sluice.ErrTooLong)
		if len(p) > 0 {
			h.fatalf("ReadLine: %d bytes and %v", len(p), err)
		}
	case i >= 0:
		want := bytes.TrimSuffix(left[:i], []byte{'\r'})
		if err != nil || !bytes.Equal(p, want) {
			h.fatalf("ReadLine: %q, %v; want %q", p, err, want)
		}
		h.pos += i + 1
	case h.end != io.EOF || len(left) == 0:
		h.failed("ReadLine", err, h.end)
	default:
		h.failed("ReadLine", err, io.ErrUnexpectedEOF)
		h.same("ReadLine", p, h.pos)
		if len(p) != len(left) {
			h.fatalf("ReadLine: %d bytes at the end, want %d", len(p), len(left))
		}
		h.pos += len(left)
	}
}

func (h *history) read() {
	p := make([]byte, h.size())
	h.note("Read of %d", len(p))
	n, err := h.r.Read(p)
	if len(p) == 0 {
		if n != 0 || err != nil {
			h.fatalf("Read of nothing: %d, %v", n, err)
		}
		return
	}
	if n == 0 {
		h.atOnce("Read", 1, err)
		return
	}
	if err != nil {
		h.fatalf("Read: %d bytes and %v", n, err)
	}
	h.same("Read", p[:n], h.pos)
	h.pos += n
}

func (h *history) writeTo() {
	h.note("WriteTo")
	var out bytes.Buffer
	n, err := h.r.WriteTo(&out)
	if int(n) != out.Len() {
		h.fatalf("WriteTo: %d, and %d were written", n, out.Len())
	}
	h.same("WriteTo", out.Bytes(), h.pos)
	left := h.had - h.pos
	h.pos += int(n)
	h.fixed = h.pos
	if transient(err) {
		return
	}
	if h.end == io.EOF {
		if err != nil {
			h.fatalf("WriteTo: %v", err)
		}
	} else {
		h.failed("WriteTo", err, h.end)
	}
	if int(n) != left {
		h.fatalf("WriteTo: %d bytes of %d", n, left)
	}
}

func (h *history) setMark() {
	h.note("Mark")
	h.r.Mark()
	h.mark, h.fixed = h.pos, h.pos
}

func (h *history) rollback() {
	if h.mark >= 0 {
		h.note("Rollback")
		h.r.Rollback()
		h.pos, h.fixed, h.mark = h.mark, h.mark, -1
	}
}

func (h *history) unmark() {
	h.note("Unmark")
	h.r.Unmark()
	h.mark = -1
}

func (h *history) feedMore() {
	if h.more != nil {
		h.more()
	}
}
