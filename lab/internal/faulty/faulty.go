package faulty

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof" // registers itself
	"os"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
)

// A Program is a loop without end with a fault, or with the fault mended.
type Program struct {
	Name  string
	Fault string // what is wrong with it
	run   func(mended bool)
}

// All are the programs. The slice is the caller's own.
func All() []Program {
	return []Program{
		{"small-writes", "each event of 64 bytes is a write to a TCP connection", smallWrites},
		{"small-reads", "the fields of a message are read one by one from the kernel", smallReads},
		{"small-buffer", "a stream of 1 GB/s and more is read 4 KiB at a time", smallBuffer},
		{"slice-per-packet", "each packet is read into a slice of its own", slicePerPacket},
		{"shared-counter", "the counters of four workers lie on one cache line", sharedCounter},
		{"lock-over-io", "a mutex is held while a store answers", lockOverIO},
		{"lock-convoy", "an HTTP server computes with a mutex held", lockConvoy},
		{"small-flushes", "a compressor is flushed after each line of a log", smallFlushes},
		{"fsync-per-record", "each record of 200 bytes waits for the disk", fsyncPerRecord},
		{"goroutine-leak", "an answer that comes too late is sent to a channel that has no reader", goroutineLeak},
		{"busy-spin", "a worker asks a channel again and again", busySpin},
	}
}

const (
	// ChildName is the hidden command that runs a program.
	ChildName = "faulty"
	// longest is how long a program runs, should its parent be stopped in a way that leaves the
	// pipe open.
	longest = 10 * time.Minute
)

// ErrUnknown is returned for a program that there is not.
var ErrUnknown = errors.New("faulty: no such program")

// Children returns the hidden command "child faulty NAME fault|mended [SOCKET]", which runs a
// program until its standard input ends. It serves net/http/pprof on the socket.
func Children() map[string]func(args []string) error {
	return map[string]func([]string) error{ChildName: runChild}
}

func runChild(args []string) error {
	if len(args) < 2 || len(args) > 3 || args[1] != "fault" && args[1] != "mended" {
		return fmt.Errorf("faulty: child %s NAME fault|mended [SOCKET], got %q", ChildName, args)
	}
	for _, p := range All() {
		if p.Name != args[0] {
			continue
		}
		child.Begin(longest)
		if len(args) == 3 {
			_ = os.Remove(args[2]) // of a program before, if there was one
			l, err := net.Listen("unix", args[2])
			if err != nil {
				return err
			}
			go func() { must(http.Serve(l, nil)) }()
		}
		p.run(args[1] == "mended")
		return nil
	}
	return fmt.Errorf("%w: %q", ErrUnknown, args[0])
}

// must ends the process on an error: there is nothing that a faulty program could do about it.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
