package sluice_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// afterRecycle has what each method does on a reader that was recycled: it
// returns ErrClosed, panics with a text that says why, or is harmless.
var afterRecycle = map[string]struct {
	call  func(r *sluice.BufReader) error
	panic string
	// harmless: it returns nil and has nothing to give.
	harmless bool
}{
	"Next":           {call: func(r *sluice.BufReader) error { _, err := r.Next(1); return err }},
	"Peek":           {call: func(r *sluice.BufReader) error { _, err := r.Peek(1); return err }},
	"ReadBuf":        {call: func(r *sluice.BufReader) error { _, err := r.ReadBuf(1); return err }},
	"ReadFrame":      {call: func(r *sluice.BufReader) error { _, err := r.ReadFrame(4, binary.BigEndian, 0); return err }},
	"ReadBufs":       {call: func(r *sluice.BufReader) error { return r.ReadBufs(1, make([]mem.Buf, 2)) }},
	"ReadBytes":      {call: func(r *sluice.BufReader) error { _, err := r.ReadBytes(1); return err }},
	"ReadRange":      {call: func(r *sluice.BufReader) error { return r.ReadRange(1, func([]byte) { panic("yield was called") }) }},
	"Skip":           {call: func(r *sluice.BufReader) error { return r.Skip(1) }},
	"Discard":        {call: func(r *sluice.BufReader) error { _, err := r.Discard(1); return err }},
	"ReadByte":       {call: func(r *sluice.BufReader) error { _, err := r.ReadByte(); return err }},
	"UnreadByte":     {call: func(r *sluice.BufReader) error { return r.UnreadByte() }},
	"ReadBE":         {call: func(r *sluice.BufReader) error { _, err := r.ReadBE(4); return err }},
	"ReadBE32":       {call: func(r *sluice.BufReader) error { _, err := r.ReadBE32(4); return err }},
	"ReadLE32":       {call: func(r *sluice.BufReader) error { _, err := r.ReadLE32(4); return err }},
	"ReadSlice":      {call: func(r *sluice.BufReader) error { _, err := r.ReadSlice('x'); return err }},
	"ReadLine":       {call: func(r *sluice.BufReader) error { _, err := r.ReadLine(); return err }},
	"ReadLineSlice":  {call: func(r *sluice.BufReader) error { _, err := r.ReadLineSlice(); return err }},
	"ReadMIMEHeader": {call: func(r *sluice.BufReader) error { _, err := r.ReadMIMEHeader(); return err }},
	"Read":           {call: func(r *sluice.BufReader) error { _, err := r.Read(make([]byte, 1)); return err }},
	"WriteTo":        {call: func(r *sluice.BufReader) error { _, err := r.WriteTo(io.Discard); return err }},
	"SetTimeout":     {call: func(r *sluice.BufReader) error { return r.SetTimeout(time.Second) }},

	"Rollback": {call: func(r *sluice.BufReader) error { r.Rollback(); return nil }, panic: "Rollback"},
	"Feed":     {call: func(r *sluice.BufReader) error { return r.Feed([]byte("x")) }, panic: "Feed"},
	"FeedBuf":  {call: func(r *sluice.BufReader) error { return r.FeedBuf(mem.Wrap([]byte("x"), nil)) }, panic: "fed"},
	"FeedCopy": {call: func(r *sluice.BufReader) error { return r.FeedCopy([]byte("x")) }, panic: "fed"},
	"FeedEnd":  {call: func(r *sluice.BufReader) error { r.FeedEnd(nil); return nil }, panic: "FeedEnd"},

	"View": {harmless: true, call: func(r *sluice.BufReader) error {
		if p := r.View(); len(p) != 0 {
			return fmt.Errorf("%d bytes in view", len(p))
		}
		return nil
	}},
	"Buffered": {harmless: true, call: func(r *sluice.BufReader) error {
		if n := r.Buffered(); n != 0 {
			return fmt.Errorf("%d bytes buffered", n)
		}
		return nil
	}},
	"Detach": {harmless: true, call: func(r *sluice.BufReader) error {
		rest, src := r.Detach()
		defer rest.Release()
		if rest.Size != 0 || src != nil {
			return fmt.Errorf("%d bytes, %v", rest.Size, src)
		}
		return nil
	}},
	"TotalRead":  {harmless: true, call: func(r *sluice.BufReader) error { r.TotalRead(); return nil }},
	"Mark":       {harmless: true, call: func(r *sluice.BufReader) error { r.Mark(); return nil }},
	"Unmark":     {harmless: true, call: func(r *sluice.BufReader) error { r.Unmark(); return nil }},
	"SetLimits":  {harmless: true, call: func(r *sluice.BufReader) error { r.SetLimits(sluice.Options{}); return nil }},
	"SetContext": {harmless: true, call: func(r *sluice.BufReader) error { r.SetContext(context.Background()); return nil }},
	"Recycle":    {harmless: true, call: func(r *sluice.BufReader) error { r.Recycle(); return nil }},
	"Reset":      {harmless: true, call: func(r *sluice.BufReader) error { r.Reset(strings.NewReader("")); r.Recycle(); return nil }},
}

func TestEveryMethodAfterRecycle(t *testing.T) {
	typ := reflect.TypeFor[*sluice.BufReader]()
	for i := range typ.NumMethod() {
		name := typ.Method(i).Name
		c, ok := afterRecycle[name]
		if !ok {
			t.Errorf("nobody says what %s does after Recycle", name)
			continue
		}
		for _, state := range []string{"fresh", "used", "zero"} {
			t.Run(name+"/"+state, func(t *testing.T) {
				r := &sluice.BufReader{Allocator: paranoid(t)}
				switch state {
				case "used":
					r.Reset(strings.NewReader("abcdef"))
					mustReadByte(t, r, 'a')
					r.Mark()
					r.Recycle()
				case "fresh":
					r.Reset(strings.NewReader("abcdef"))
					r.Recycle()
				}
				if state == "zero" && name == "Rollback" {
					return // nothing was read, so nothing is read again
				}
				var err error
				text := panicOf(func() { err = c.call(r) })
				switch {
				case c.panic != "":
					if !strings.HasPrefix(text, "sluice: ") || !strings.Contains(text, c.panic) {
						t.Errorf("panic %q, want one about %s; error %v", text, c.panic, err)
					}
				case text != "":
					t.Errorf("panic %q", text)
				case c.harmless:
					if err != nil {
						t.Error(err)
					}
				case !errors.Is(err, sluice.ErrClosed):
					t.Errorf("%v, want %v", err, sluice.ErrClosed)
				}
			})
		}
	}
}

func TestRecycleTwiceIsHarmless(t *testing.T) {
	for _, s := range streams() {
		a := paranoid(t)
		r := s.open(t, a, testData(10_000), every(100))
		if _, err := r.Next(5000); err != nil {
			t.Fatal(err)
		}
		r.Recycle()
		r.Recycle()
		// Nor does the second release what another owner has got meanwhile.
		b := a.Get(4096)
		r.Recycle()
		if !b.Valid() {
			t.Errorf("%s: Recycle has released somebody else's memory", s.name)
		}
		b.Release()
		if out := a.Stats().OutBytes; out != 0 {
			t.Errorf("%s: %d bytes are checked out", s.name, out)
		}
	}
	new(sluice.BufReader).Recycle()
}

func TestRecycleGivesBackEverything(t *testing.T) {
	data := testData(300_000)
	for _, c := range []struct {
		name string
		use  func(r *sluice.BufReader)
	}{
		{"nothing read", func(*sluice.BufReader) {}},
		{"a window", func(r *sluice.BufReader) { _, _ = r.Peek(10) }},
		{"a large window", func(r *sluice.BufReader) { _, _ = r.Peek(200_000) }},
		{"a failed gathering", func(r *sluice.BufReader) { _, _ = r.ReadBytes(400_000) }},
		{"a mark", func(r *sluice.BufReader) { r.Mark(); _ = r.Skip(100_000) }},
		{"a byte unread", func(r *sluice.BufReader) { _ = r.Skip(300_000); _ = r.UnreadByte() }},
		{"the end", func(r *sluice.BufReader) { _, _ = io.Copy(io.Discard, r) }},
	} {
		for _, s := range streams() {
			a := paranoid(t)
			r := s.open(t, a, data, every(5000))
			c.use(r)
			r.Recycle()
			if out := a.Stats().OutBytes; out != 0 {
				t.Errorf("%s, %s: %d bytes are checked out", s.name, c.name, out)
			}
		}
	}
}

func TestResetRevivesAndForgets(t *testing.T) {
	a := paranoid(t)
	r := readerOf(t, a, 0, replies(reply{"old bytes", errSource}))
	r.SetLimits(sluice.Options{Line: 5})
	mustReadByte(t, r, 'o')
	r.Mark()
	mustReadByte(t, r, 'l')
	for _, recycle := range []bool{false, true} {
		if recycle {
			r.Recycle()
		}
		r.Reset(strings.NewReader("fresh\n"))
		refusesUnread(t, r, "after Reset")
		if r.TotalRead() != 0 || r.Buffered() != 0 || len(r.View()) != 0 {
			t.Errorf("%d read, %d buffered, %d in view", r.TotalRead(), r.Buffered(), len(r.View()))
		}
		if text := panicOf(r.Rollback); text == "" {
			t.Error("the mark has outlived Reset")
		}
		if _, err := r.ReadLine(); !errors.Is(err, sluice.ErrTooLong) {
			t.Errorf("the limits have not outlived Reset: %v", err)
		}
		if p, err := io.ReadAll(r); string(p) != "fresh\n" || err != nil {
			t.Errorf("%q, %v", p, err)
		}
	}
	r.Reset(nil)
	if _, err := r.ReadByte(); err != sluice.ErrShort {
		t.Errorf("a reader that is to be fed: %v", err)
	}
	if err := r.Feed([]byte("x")); err != nil {
		t.Error(err)
	}
	mustReadByte(t, r, 'x')
}

func TestResetReadsTheFields(t *testing.T) {
	first, second := paranoid(t), paranoid(t)
	r := readerOf(t, first, 0, strings.NewReader("abc"))
	r.Allocator, r.BufLen = second, 16
	mustReadByte(t, r, 'a')
	if first.Stats().CheckedOut == 0 || second.Stats().CheckedOut != 0 {
		t.Error("the allocator was changed without Reset")
	}
	var asked []int
	r.Reset(readerFunc(func(p []byte) (int, error) {
		asked = append(asked, len(p))
		return len(p), nil
	}))
	if err := r.Skip(100); err != nil {
		t.Fatal(err)
	}
	if first.Stats().CheckedOut != 0 || second.Stats().CheckedOut == 0 {
		t.Error("Reset has not changed the allocator")
	}
	for _, n := range asked {
		if n != 16 {
			t.Fatalf("reads of %v bytes, want 16", asked)
		}
	}
}

func TestPoolOfReaders(t *testing.T) {
	a := paranoid(t)
	pool := sync.Pool{New: func() any { return &sluice.BufReader{Allocator: a} }}
	data := testData(50_000)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 50 {
				r := pool.Get().(*sluice.BufReader)
				r.Reset(&pieces{data: data, next: every(1000 + i)})
				head, err := r.ReadBuf(100)
				if err != nil {
					t.Error(err)
					return
				}
				m, err := r.ReadBytes(30_000)
				if err != nil {
					t.Error(err)
					return
				}
				if i%2 == 0 { // sometimes in the middle
					if err := r.Skip(len(data) - 30_100); err != nil {
						t.Error(err)
					}
				}
				r.Recycle()
				pool.Put(r)
				if !bytes.Equal(head.Bytes(), data[:100]) || !bytes.Equal(m.Bytes(), data[100:30_100]) {
					t.Error("bytes have changed after the reader went back to the pool")
				}
				head.Release()
				m.Release()
			}
		})
	}
	group.Wait()
	if out := a.Stats().OutBytes; out != 0 {
		t.Errorf("%d bytes are checked out", out)
	}
}
