package evidence

import (
	"os"
	"path/filepath"
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
