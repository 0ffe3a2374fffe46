package echo

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/loopback"
)

// atMost bounds every wait for something that has to happen.
const atMost = 2 * time.Minute

var everySettings = map[string]Settings{
	"aio": {Engine: "aio"},
	"std": {Engine: "std"},
}

// start runs a server until the test ends. Stop it with the function that is
// returned, which waits for the end.
func start(t *testing.T, s Settings) (at net.Addr, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, l, s) }()
	t.Cleanup(cancel)
	return l.Addr(), func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(atMost):
			t.Fatal("the server does not end")
			return nil
		}
	}
}

func dial(t *testing.T, at net.Addr) *net.TCPConn {
	t.Helper()
	c, err := net.DialTimeout("tcp", at.String(), atMost)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(atMost)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

func TestEachConnectionGetsItsOwnBack(t *testing.T) {
	for name, settings := range everySettings {
		server, stop := start(t, settings)
		clients := []*net.TCPConn{dial(t, server), dial(t, server), dial(t, server)}
		for range 10 {
			for i, c := range clients {
				p := []byte{byte(i)}
				if _, err := c.Write(p); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(c, p); err != nil || p[0] != byte(i) {
					t.Fatalf("%s: %v, %v", name, p, err)
				}
			}
		}
		// The server closes after it has seen the end.
		if err := errors.Join(clients[0].CloseWrite(), readEnd(clients[0])); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := stop(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// readEnd wants the end of the stream and nothing before it.
func readEnd(c net.Conn) error {
	if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		return errors.Join(errors.New("no end of the stream"), err)
	}
	return nil
}

// fill writes to a server, and does not read its echoes, until the server takes no
// more: it is then blocked in a write with bytes left.
func fill(t *testing.T, c *net.TCPConn) {
	t.Helper()
	p := make([]byte, 256<<10)
	late := time.Now().Add(atMost)
	// Once may be a machine that stood still.
	for standstills := 0; time.Now().Before(late); {
		if err := c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		n, err := c.Write(p)
		var timeout net.Error
		if err != nil && (!errors.As(err, &timeout) || !timeout.Timeout()) {
			t.Fatal(err)
		}
		if n > 0 {
			standstills = 0
		} else if standstills++; standstills == 10 {
			return
		}
	}
	t.Fatal("the server takes everything")
}

func TestWhatWasReadIsSentBackAtTheEnd(t *testing.T) {
	for name, settings := range everySettings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings.Grace = atMost
			settings.OnError = func(err error) { t.Errorf("%s: %v", name, err) }
			server, stop := start(t, settings)
			c := dial(t, server)
			fill(t, c)
			received := make(chan int64)
			go func() {
				// Not all that was sent was read, so that it may end with a reset.
				n, _ := io.Copy(io.Discard, c)
				received <- n
			}()
			if err := stop(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if n := <-received; n == 0 {
				t.Errorf("%s: nothing came back", name)
			}
		})
	}
}

func TestGraceBoundsTheEnd(t *testing.T) {
	for name, settings := range everySettings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			heard := make(chan error, 1)
			settings.Grace = 20 * time.Millisecond
			settings.OnError = func(err error) { heard <- err }
			server, stop := start(t, settings)
			fill(t, dial(t, server))
			if err := stop(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			select {
			case err := <-heard:
				if !strings.Contains(err.Error(), "cut off") {
					t.Errorf("%s: heard of %v", name, err)
				}
			default:
				t.Errorf("%s: nobody hears that clients were cut off", name)
			}
		})
	}
}

func TestAListenerThatFailsEndsTheServer(t *testing.T) {
	for name, settings := range everySettings {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := Serve(t.Context(), l, settings); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDescriptorsThatRunOutAreWaitedFor(t *testing.T) {
	for name, settings := range everySettings {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		heard, ended := make(chan error, 10), make(chan error, 1)
		settings.OnError = func(err error) { heard <- err }
		go func() { ended <- Serve(ctx, loopback.Refusing(l, 2), settings) }()
		c, p := dial(t, l.Addr()), []byte{7}
		if _, err := c.Write(p); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		if err, before := <-ended, <-heard; err != nil || !errors.Is(before, syscall.EMFILE) {
			t.Errorf("%s: %v, before that %v", name, err, before)
		}
	}
}

func TestSettingsThatCannotBe(t *testing.T) {
	for _, s := range []Settings{{}, {Engine: "gaio"}} {
		if err := s.Check(); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}
