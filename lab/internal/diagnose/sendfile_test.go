package diagnose

import (
	"testing"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
)

// What sends a file passes RawRead on the way, and reads nothing.
func TestSendingAFileIsNoRead(t *testing.T) {
	frames := func(names ...string) (list []evidence.Frame) {
		for _, name := range names {
			list = append(list, evidence.Frame{Func: name})
		}
		return list
	}
	for _, c := range []struct {
		stack []evidence.Frame
		want  bool
	}{
		{frames("internal/runtime/syscall/linux.Syscall6", "syscall.sendfile", "internal/poll.SendFile", "net.sendFile.func1",
			"internal/poll.(*FD).RawRead", "os.(*rawConn).Read", "net.sendFile", "net.(*TCPConn).readFrom", "io.CopyN", "main.send"), false},
		{frames("internal/runtime/syscall/linux.Syscall6", "internal/sys.Recv", "internal/poll.(*FD).RawRead", "net.(*rawConn).Read", "main.receive"), true},
		{frames("internal/runtime/syscall/linux.Syscall6", "syscall.read", "internal/poll.(*FD).Read", "main.receive"), true},
	} {
		if got := through(c.stack, isRead); got != c.want {
			t.Errorf("%v: %v", c.stack, got)
		}
	}
}
