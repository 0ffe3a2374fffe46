package realtest

import (
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof" // registers itself
	"os"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
)

// faults are loops without end with a fault that looks innocent where it stands and costs
// most of the time, the rule that must find each, and the part of the place that the
// finding must name.
var faults = []struct {
	name        string
	run         func(mended bool)
	rule, place string
}{
	// Each event of 64 bytes is a write to a TCP connection.
	{"small-writes", smallWrites, "small-writes", "sendEvent"},
	// The fields of a message are read one by one from the kernel.
	{"small-reads", smallReads, "small-reads", "readMessage"},
	// A stream of 1 GB/s and more is read 4 KiB at a time.
	{"small-buffer", smallBuffer, "small-buffer", "checksum"},
	// Each packet is read into a slice of its own.
	{"slice-per-packet", slicePerPacket, "allocations", "readPacket"},
	// The counters of four workers lie on one cache line.
	{"shared-counter", sharedCounter, "shared-line", "sharedCounter"},
	// A mutex is held while a store answers.
	{"lock-over-io", lockOverIO, "lock-over-io", "putLocked"},
	// An HTTP server computes with a mutex held.
	{"lock-convoy", lockConvoy, "lock-contention", "lockConvoy"},
	// A compressor is flushed after each line of a log.
	{"small-flushes", smallFlushes, "flush-per-write", "logLine"},
	// Each record of 200 bytes waits for the disk.
	{"fsync-per-record", fsyncPerRecord, "fsync", "storeRecord"},
	// An answer that comes too late is sent to a channel that has no reader.
	{"goroutine-leak", goroutineLeak, "goroutine-leak", "askReplica"},
	// A worker asks a channel again and again.
	{"busy-spin", busySpin, "busy-spin", "takeWork"},
	// Each question has a connection of its own.
	{"dial-per-question", dialPerQuestion, "connection-per-request", "askAnew"},
	// The settings are read from their file for each request.
	{"settings-per-request", settingsPerRequest, "reopened-file", "readSettings"},
	// The timer of an idle session is set anew for each message.
	{"timer-per-message", timerPerMessage, "timers", "heardFrom"},
}

// runFaulty runs a program, args NAME fault|mended [SOCKET], until its standard input
// ends. It serves net/http/pprof on the socket.
func runFaulty(args []string) error {
	for _, p := range faults {
		if p.name != args[0] {
			continue
		}
		child.Begin(10 * time.Minute)
		if len(args) == 3 {
			_ = os.Remove(args[2]) // of a program before, if there was one
			l, err := net.Listen("unix", args[2])
			if err != nil {
				return err
			}
			go func() { must(http.Serve(l, nil)) }()
		}
		p.run(args[1] == "mended")
	}
	return fmt.Errorf("there is no faulty program %q", args)
}

// must ends the process on an error: there is nothing that a faulty program could do about it.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
