package evidence

import "testing"

func TestOwnCodeIsThatOfAnyModule(t *testing.T) {
	for _, c := range []struct {
		frame Frame
		own   bool
	}{
		{Frame{Func: "main.main"}, true},
		{Frame{Func: "example.org/shop/store.Put"}, true},
		{Frame{Func: "shop/store.(*Cache).Put", File: "cache.go"}, true}, // a module's name needs no dot
		{Frame{Func: "shop/store.(*Cache).Put", File: "shop"}, true},     // as perf has it without Go's table
		{Frame{Func: "shop.Put[example.org/x.T]", File: "shop.go"}, true},
		{Frame{Func: "net/http.(*conn).serve", File: "server.go"}, false},
		{Frame{Func: "slices.SortFunc[example.org/x.T]", File: "sort.go"}, false},
		{Frame{Func: "internal/poll.(*FD).Read", File: "fd_unix.go"}, false},
		{Frame{Func: "golang.org/x/net/http2.(*Framer).ReadFrame", File: "frame.go"}, false},
		{Frame{Func: "vendor/golang.org/x/net/idna.ToASCII", File: "idna.go"}, false},
		{Frame{Func: "cmd/compile/internal/ssa.Compile", File: "compile.go"}, false},
		{Frame{Func: "tcp_ack.part.0", File: kernelFile}, false},
		{Frame{Func: "memeqbody", File: "equal_amd64.s"}, false},
		{Frame{Func: "sort_rows", File: "server", Native: true}, true},
		{Frame{Func: "std::_Rb_tree_increment", File: "server", Native: true}, false},
		{Frame{Func: "<alloc::string::String as core::clone::Clone>::clone", File: "server", Native: true}, false},
		{Frame{Func: "core::ops::function::FnOnce::call_once{{vtable.shim}}", File: "server", Native: true}, false},
		// What threads run is compiled into these.
		{Frame{Func: "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#1}> > >::_M_run", File: "server", Native: true}, true},
		{Frame{Func: "std::sys::backtrace::__rust_begin_short_backtrace", File: "server", Native: true}, true},
	} {
		if got := c.frame.Own(); got != c.own {
			t.Errorf("%+v: own is %v", c.frame, got)
		}
	}
}

// Goroutines that begin a collection, and up to Go 1.23 those that wait for a WaitGroup, have
// the reason that waits for locks had once.
func TestNotEverySemaphoreIsALock(t *testing.T) {
	set := newWaitSet()
	set.add(all(
		at(goWaiting, "semacquire", []Frame{{Func: "sync.(*WaitGroup).Wait"}, {Func: "main.main"}}),
		at(goWaiting, "semacquire", []Frame{{Func: "context.WithTimeout"}, {Func: "main.job"}}), // it allocates
		at(goWaiting, "semacquire", []Frame{{Func: "internal/poll.(*fdMutex).rwlock"}, {Func: "main.write"}}),
	))
	for _, p := range set.sum(1).Places {
		if want := p.Frames[1].Func == "main.write"; LocksGoroutines(p.Reason) != want {
			t.Errorf("%s in %s is a lock: %v", p.Reason, p.Frames[0].Func, !want)
		}
	}
}
