package matrix

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

// echoing is a server that sends back what comes, until the test ends.
func echoing(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

func TestANetworkDelaysEachWayAndEnds(t *testing.T) {
	target := echoing(t)
	const latency = 20 * time.Millisecond
	plan := load.Plan{Target: target}
	n, err := through(t.Context(), &plan, latency, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", plan.Requests.Via)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	began := time.Now()
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	back := make([]byte, 5)
	if _, err := io.ReadFull(c, back); err != nil || string(back) != "hello" {
		t.Fatalf("%q, %v", back, err)
	}
	if took := time.Since(began); took < 2*latency {
		t.Errorf("a round trip took %v, less than twice %v", took, latency)
	}
	if err := n.close(); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadFull(c, back); err == nil {
		t.Error("the connection outlives the network")
	}
	if c, err := n.listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the network listens after its end: %v, %v", c, err)
	}
}

// The request is the same as without a network: also the name of the host in it, which certificates
// and virtual hosts go by.
func TestANetworkStandsBeforeURLs(t *testing.T) {
	hosts := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case hosts <- r.Host:
		default:
		}
	}))
	defer s.Close()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
	plan := load.Default()
	plan.Target, plan.Warmup, plan.Duration = "http://localhost:"+port+"/path?x=1", 0, 50*time.Millisecond
	n, err := through(t.Context(), &plan, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	if r, err := load.Run(t.Context(), plan, nil); err != nil || r.Requests == 0 {
		t.Fatalf("%v, %+v", err, r)
	}
	if host := <-hosts; host != "localhost:"+port {
		t.Errorf("the target is asked for %s", host)
	}
}

func TestANetworkKnowsTheSchemesPorts(t *testing.T) {
	for target, want := range map[string]string{"redis://127.0.0.1": "127.0.0.1:6379", "http://[::1]/x": "[::1]:80", "https://me:p@host?a:1": "host:443", "localhost:1": "localhost:1"} {
		if addr, err := before(&load.Plan{Target: target}); err != nil || addr != want {
			t.Errorf("%s: %s, %v, want %s", target, addr, err, want)
		}
	}
	for bad, says := range map[string]string{"unix:sock": "unix:sock", "file:x": "file:x", "://": "://", "a:1,b:1": "one target", "tcp://host": "needs a port"} {
		if _, err := before(&load.Plan{Target: bad}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", bad, err)
		}
		if _, err := New("rate-network", Choice{Target: &load.Plan{Target: bad}}); err == nil {
			t.Errorf("%s: a grid", bad)
		}
	}
}
