package evidence

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// What is redirected is for the command, a file from its beginning also when it is started again.
func TestACommandHasTheInputThatIsRedirected(t *testing.T) {
	name := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(name, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	before, err := syscall.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(before)
	defer syscall.Dup3(before, 0, 0)
	if err := syscall.Dup3(int(file.Fd()), 0, 0); err != nil {
		t.Fatal(err)
	}
	g := &gatherer{Target: Target{Command: []string{"sh", "-c", `read line; [ "$line" = hello ] && exit 7; exit 8`}}}
	defer g.stop()
	for range 2 {
		_, err := g.pid(t.Context())
		if err == nil { // on a busy machine
			<-g.started.Gone()
			err = g.started.Ended()
		}
		if !strings.Contains(err.Error(), "exit status 7") {
			t.Errorf("it has another input: %v", err)
		}
	}
}

// Who asks for a name waits for the answer itself. What a poller watches is kept for the next question: nginx does.
func TestSocketsOfWhoWaitsForNames(t *testing.T) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(socket)
	if err := syscall.Connect(socket, &syscall.SockaddrInet4{Port: 53, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	poller, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(poller)
	for _, watched := range []bool{false, true} {
		known := connectionsOf([]int{os.Getpid()}, func(int) string { return "" })
		if len(known) == 0 {
			t.Skip("the descriptors of a process cannot be looked at here")
		}
		if got := known[strconv.Itoa(socket)]; (got.asks == 0) != watched {
			t.Errorf("watched: %v: %+v", watched, got)
		}
		if err := syscall.EpollCtl(poller, syscall.EPOLL_CTL_ADD, socket, &syscall.EpollEvent{Events: syscall.EPOLLIN}); err != nil && !watched {
			t.Fatal(err)
		}
	}
}
