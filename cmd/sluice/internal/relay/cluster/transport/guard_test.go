package transport

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/internal/testcert"
)

// What servers send is passed, however it comes; what announces more than a node takes is not, and neither are
// lines behind which the client would see a message elsewhere than the guard.
func TestGuard(t *testing.T) {
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{"INFO {\"server_id\":\"a\"} \r\n+OK\r\nPING\r\nPONG\r\n-ERR 'Stale Connection'\r\n", true},
		{"INFO {\"connect_urls\":[\"" + strings.Repeat("a", 100<<10) + "\"]}\r\nPING\r\n", true},
		{"MSG sluice.node.a 1 5\r\nMSG 9\r\nmsg\ts 1 r  0\r\n\r\nPING\r\n", true},
		{"HMSG s 1 12 14\r\nNATS/1.0\r\n\r\nab\r\nHMSG s 1 r 12 12\r\nNATS/1.0\r\n\r\n\r\nPING\r\n", true},
		{"MSG s 1 8388608\r\n", true},
		{"MSG s 1 8388609\r\n", false},
		{"MSG s 1 2000000000\r\n", false},
		{"HMSG s 1 12 99999999999999999999\r\n", false},
		{"MSG s 1 -1\r\n", false},
		{"MSG s 1\r\n", false},
		{"MSG s 1 r 5 6\r\n", false},
		{"MSG s 1 10\r0\r\n", false},
		{"MSG s 1 10\n", false},
		{"MSG \n", false},
		{"-ERR \nMSG s 1 5\r\n", false},
		{"INFO \nMSG s 1 5\r\n", false},
		{"MSG s 1 2\r\nabMSG s 1 5\r\n", false},
		{"MSG s 1 2\r\nab\r\rMSG s 1 5\r\n", false},
		{"PUB s 5\r\n", false},
		{"\r\n", false},
		{"MSG s 1 " + strings.Repeat(" ", maxLine), false},
		{"INFO {" + strings.Repeat("a", maxInfo), false},
	} {
		for _, size := range []int{len(c.text), 1, 3} {
			var g guard
			var err error
			for p := []byte(c.text); len(p) > 0 && err == nil; p = p[min(size, len(p)):] {
				err = g.pass(p[:min(size, len(p))])
			}
			if c.ok != (err == nil) || err != nil && !errors.Is(err, errProtocol) {
				t.Errorf("%.60q in pieces of %d: %v", c.text, size, err)
			}
		}
	}
}

// A NATS that announces a message of gigabytes, and sends none of it, is left; its client made room for it.
func TestAMessageThatIsOnlyAnnouncedTakesNoMemory(t *testing.T) {
	for _, secure := range []*tls.Config{nil, testcert.Server(t)} {
		onlyAnnounced(t, secure)
	}
}

func onlyAnnounced(t *testing.T, secure *tls.Config) {
	l, err := net.Listen("tcp", loopback.Host()+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var took uint64
	left := make(chan error, 1)
	go func() {
		var before, after runtime.MemStats
		left <- lie(l, secure, func() { runtime.ReadMemStats(&before) })
		runtime.ReadMemStats(&after)
		took = after.TotalAlloc - before.TotalAlloc
		close(left)
	}()
	open(t, Options{Node: "a", URL: "nats://" + l.Addr().String(), TLS: testcert.Client(t)})
	if err := <-left; err != nil {
		t.Fatal(err)
	}
	<-left
	if took > 100<<20 {
		t.Errorf("%d bytes were allocated", took)
	}
}

// lie is a NATS that announces a long message to its first client, after before, over TLS unless secure is nil. It
// returns when the client has left.
func lie(l net.Listener, secure *tls.Config, before func()) error {
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	fmt.Fprintf(conn, "INFO {\"server_id\":\"a\",\"version\":\"2.10.0\",\"proto\":1,\"max_payload\":1048576,\"headers\":true,\"tls_required\":%v}\r\n", secure != nil)
	if secure != nil {
		conn = tls.Server(conn, secure)
	}
	r := bufio.NewReader(conn)
	for line := ""; !strings.HasPrefix(line, "SUB"); { // the client reads then
		if strings.HasPrefix(line, "PING") {
			io.WriteString(conn, "PONG\r\n")
		}
		if line, err = r.ReadString('\n'); err != nil {
			return err
		}
	}
	before()
	io.WriteString(conn, "MSG sluice.node.b 1 1000000000\r\nab")
	io.Copy(io.Discard, r)
	return nil
}
