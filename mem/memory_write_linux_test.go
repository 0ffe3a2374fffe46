package mem_test

import (
	"net"
	"path/filepath"
	"testing"
)

// A sequenced-packet socket keeps each write apart, so it shows that parts
// leave in one.
func TestWriteToGathersPartsInOneWrite(t *testing.T) {
	l, err := net.Listen("unixpacket", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err := net.Dial("unixpacket", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	m := split([]byte("abcdef"), 2, 4)
	if n, err := m.WriteTo(near); n != 6 || err != nil {
		t.Fatal(n, err)
	}
	p := make([]byte, 100)
	n, err := far.Read(p)
	if string(p[:n]) != "abcdef" || err != nil {
		t.Errorf("the first packet is %q, %v: three parts were not one write", p[:n], err)
	}
}
