package session

import "testing"

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
