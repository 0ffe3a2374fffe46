package session

import (
	"runtime"
	"testing"
)

func TestMemoryOfTCP(t *testing.T) {
	for _, c := range []struct {
		text  string
		pages int64
		known bool
	}{
		{"sockets: used 20\nTCP: inuse 4 orphan 0 tw 7 alloc 4 mem 12\nUDP: inuse 0 mem 2\n", 12, true},
		{"UDP: inuse 0 mem 2\n", 0, false},
		{"TCP: inuse 4 mem\n", 0, false},
		{"TCP: inuse 4 mem x\n", 0, false},
		{"TCP: inuse 4 mem -1\n", -1, false},
		{"", 0, false},
	} {
		if pages, known := tcpPages(c.text); pages != c.pages || known != c.known {
			t.Errorf("%q: %d, %v", c.text, pages, known)
		}
	}
	if bytes, known := tcpMemory(); known && bytes <= 0 {
		t.Errorf("this machine has %d bytes", bytes)
	}
}

// Memory is uncounted on each processor of the machine, also on those that this process may
// not use.
func TestProcessorsOfTheMachine(t *testing.T) {
	for list, want := range map[string]int{"0\n": 1, "0-63\n": 64, "0-3,8-11\n": 12, "0,2\n": 3, "": 0, "\n": 0, "a-b": 0} {
		if got := lastProcessor(list); got != want {
			t.Errorf("%q: %d, want %d", list, got, want)
		}
	}
	if got, least := processors(), runtime.NumCPU(); got < least {
		t.Errorf("the machine has %d processors, this process %d", got, least)
	}
}
