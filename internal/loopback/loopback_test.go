package loopback

import (
	"net"
	"testing"
)

func TestNoAddressIsGivenTwice(t *testing.T) {
	seen := map[string]bool{}
	for range 500 {
		address := Free(t)
		if seen[address] {
			t.Fatalf("%s was given before", address)
		}
		seen[address] = true
	}
}

func TestAFreeAddressIsListenedOn(t *testing.T) {
	address := Free(t)
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Errorf("a program listens at %s", address)
	}
	for range 3 {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
	c, err := net.ListenPacket("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
