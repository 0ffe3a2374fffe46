package window_test

import (
	"bytes"
	"testing"

	"github.com/sluice-go/sluice/internal/window"
	"github.com/sluice-go/sluice/mem"
)

// A head that is put back is there again, wherever the front has gone
// meanwhile, and so is the byte before it.
func TestAHeadIsPutBack(t *testing.T) {
	const text = "xhead and body"
	for name, meanwhile := range map[string]func(a *mem.Allocator, w *window.Window){
		"nothing happens":      func(*mem.Allocator, *window.Window) {},
		"the front slides":     func(_ *mem.Allocator, w *window.Window) { w.Slide() },
		"the front moves":      func(a *mem.Allocator, w *window.Window) { w.Move(a.Slab(1000), 0, 1000) },
		"it moves with room":   func(a *mem.Allocator, w *window.Window) { w.Move(a.Slab(1000), 2, 1000) },
		"it moves, just so":    func(a *mem.Allocator, w *window.Window) { w.Move(a.Slab(256), 0, len(text)-5) },
		"its memory is shared": func(a *mem.Allocator, w *window.Window) { w.Move(a.Slab(256), 0, 256); w.Stash(a.Slab(256), 1) },
	} {
		for _, fixed := range []bool{false, true} {
			a := mem.New(mem.Options{Name: t.Name(), Leak: mem.LeakParanoid})
			var w window.Window
			w.Init()
			w.AddBlock(a.Slab(256), 256)
			w.Filled(copy(w.Room(), text))
			w.R++
			if fixed {
				w.Fix()
			}
			var h window.Head
			w.TakeHead(&h, 4)
			meanwhile(a, &w)
			if !w.PutBack(&h) {
				w.PrependHead(&h, a.Slab(w.Kept()+4))
			}
			if !bytes.Equal(w.View(), []byte(text[1:])) || w.Received() != int64(len(text)) {
				t.Errorf("%s: %q, %d bytes received", name, w.View(), w.Received())
			}
			switch w.Unread() {
			case window.Refused:
				if !fixed {
					t.Errorf("%s: Unread is refused", name)
				}
			case window.Gone:
				w.Prepend(a.Slab(w.Kept() + 1))
				fallthrough
			case window.Done:
				if fixed || !bytes.Equal(w.View(), []byte(text)) {
					t.Errorf("%s: after Unread %q", name, w.View())
				}
			}
			w.Drop()
			if n := len(a.Leaks()); n != 0 {
				t.Errorf("%s: %d references are left", name, n)
			}
		}
	}
}

// The byte that was consumed last is taken back, wherever the memory that it was in has gone.
func TestTheLastByteIsTakenBack(t *testing.T) {
	const text = "consumed"
	for name, goes := range map[string]func(a *mem.Allocator, w *window.Window){
		"nowhere":               func(*mem.Allocator, *window.Window) {},
		"Slide":                 func(_ *mem.Allocator, w *window.Window) { w.Slide() },
		"Move":                  func(a *mem.Allocator, w *window.Window) { w.Move(a.Slab(256), 0, 256) },
		"Stash":                 func(a *mem.Allocator, w *window.Window) { w.Stash(a.Slab(256), 1) },
		"Stash, others hold it": func(a *mem.Allocator, w *window.Window) { shared(w, func() { w.Stash(a.Slab(256), 1) }) },
		"Park":                  func(_ *mem.Allocator, w *window.Window) { w.Park(1) },
		"Park, others hold it":  func(_ *mem.Allocator, w *window.Window) { shared(w, func() { w.Park(1) }) },
		"Empty":                 func(_ *mem.Allocator, w *window.Window) { w.Empty() },
		"Vacate":                func(_ *mem.Allocator, w *window.Window) { w.Vacate() },
		"the next piece":        func(_ *mem.Allocator, w *window.Window) { w.AddBytes([]byte("next")); w.Show() },
	} {
		a := mem.New(mem.Options{Name: t.Name(), Leak: mem.LeakParanoid})
		var w window.Window
		w.Init()
		w.AddBlock(a.Slab(256), 256)
		w.Filled(copy(w.Room(), "before"))
		w.R += len("before")
		w.Slide() // what is before it is another byte
		w.Filled(copy(w.Room(), text))
		w.R += len(text)
		goes(a, &w)
		switch w.Unread() {
		case window.Refused:
			t.Errorf("%s: Unread is refused", name)
		case window.Gone:
			w.Prepend(a.Slab(w.Kept() + 1))
		}
		if got := w.View(); len(got) == 0 || got[0] != text[len(text)-1] {
			t.Errorf("%s: %q is taken back", name, got)
		}
		if w.Unread() != window.Refused {
			t.Errorf("%s: a second byte is taken back", name)
		}
		w.Drop()
		if n := len(a.Leaks()); n != 0 {
			t.Errorf("%s: %d references are left", name, n)
		}
	}
}

// shared calls do while another holds the window's latest byte.
func shared(w *window.Window, do func()) {
	w.R--
	b := w.Cut(1)
	do()
	b.Release()
}
