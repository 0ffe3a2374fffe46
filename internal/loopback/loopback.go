// Package loopback has addresses for tests that leave a port and come back to it, or
// must find nothing at it. A port that was left may be another program's at once: tests
// of several packages run side by side, and all listen at 127.0.0.1. It also has a
// listener that cannot accept at first.
package loopback

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
)

// given are the addresses that Free has returned: tests that run at the same time must not
// get one twice, nor one that a test has left and will come back to.
var given sync.Map

// Host returns an address that only this process uses, on Linux, where all of 127.0.0.0/8
// is the machine's own. Elsewhere it is 127.0.0.1.
func Host() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1"
	}
	pid := os.Getpid() // below 1<<22
	return fmt.Sprintf("127.%d.%d.%d", 64+pid>>16, pid>>8&255, pid&255)
}

// Free returns a host and port at which nothing listens, by TCP or UDP, another one each
// time. It stays free until the process itself listens there.
func Free(t testing.TB) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", net.JoinHostPort(Host(), "0"))
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		c, err := net.ListenPacket("udp", address)
		l.Close()
		if err != nil {
			continue
		}
		c.Close()
		if _, again := given.LoadOrStore(address, true); !again {
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}
