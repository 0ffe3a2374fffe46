//go:build linux && !race && !asan

package sluice_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/invariant"
)

// stackEnv makes a process measure one kind of call. Each has a process of its own without
// collections: what earlier goroutines have left, and the stack that the runtime gives new
// goroutines after a collection, would hide that stacks grow.
const stackEnv = "SLUICE_TEST_STACK"

// A goroutine whose stack never grows beyond its first 2 KiB costs half as much to keep: that
// is most of what an idle connection takes. Servers wait a few calls deep.
func TestReaderThatWaitsStaysInTheFirstStack(t *testing.T) {
	if invariant.Enabled || testing.CoverMode() != "" {
		t.Skip("the checks, or the counters of coverage, take more stack")
	}
	if call := stackCalls[os.Getenv(stackEnv)]; call != nil {
		waitInCalls(t, call)
		return
	}
	for name := range stackCalls {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestReaderThatWaitsStaysInTheFirstStack$")
			// One processor finds every block that was given back: making one takes more stack.
			cmd.Env = append(os.Environ(), stackEnv+"="+name, "GOGC=off", "GOMEMLIMIT=off", "GOMAXPROCS=1")
			out, err := cmd.CombinedOutput()
			grown, readers := grownStacks(out)
			if err != nil || readers != stackReaders {
				t.Fatalf("%v: %s", err, out)
			}
			if grown > stackReaders/4 {
				t.Errorf("the stacks of %d of %d goroutines that wait in %s, three calls deep, have grown", grown, readers, name)
			}
		})
	}
}

// grownStacks counts the goroutines in what waitInCalls has written, and those whose stack
// has grown: it was moved.
func grownStacks(out []byte) (grown, all int) {
	first := map[int]string{}
	moved := map[int]bool{}
	for line := range strings.Lines(string(out)) {
		var i int
		var place string
		if n, _ := fmt.Sscanf(line, "stack %d %s", &i, &place); n != 2 {
			continue
		}
		if first[i] == "" {
			first[i] = place
		}
		moved[i] = moved[i] || first[i] != place
	}
	for _, is := range moved {
		if is {
			grown++
		}
	}
	return grown, len(first)
}

var stackCalls = map[string]func(r *sluice.BufReader, size int) error{
	"Next": func(r *sluice.BufReader, size int) error {
		_, err := r.Next(size)
		return err
	},
	"ReadBuf": func(r *sluice.BufReader, size int) error {
		p, err := r.ReadBuf(size)
		if err == nil {
			p.Release()
		}
		return err
	},
	"ReadFrame": func(r *sluice.BufReader, size int) error {
		p, err := r.ReadFrame(4, binary.BigEndian, size)
		if err == nil {
			p.Release()
		}
		return err
	},
	"Skip": (*sluice.BufReader).Skip,
}

const stackReaders = 64

// waitInCalls lets each of stackReaders goroutines get two frames over a connection, and
// then wait.
func waitInCalls(t *testing.T, call func(r *sluice.BufReader, size int) error) {
	const body = 16 << 10
	var over sync.WaitGroup
	var ends []net.Conn
	read := make(chan struct{})
	for i := range stackReaders {
		near, far := tcpPair(t)
		ends = append(ends, far)
		over.Go(func() { serveFrames(i, near, 4+body, call, read) })
	}
	p := binary.BigEndian.AppendUint32(nil, body)
	p = append(p, make([]byte, body)...)
	for range 2 {
		for _, c := range ends {
			if _, err := c.Write(p); err != nil {
				t.Fatal(err)
			}
			<-read // one at a time, so that one block is enough for all
		}
	}
	for _, c := range ends {
		c.Close()
	}
	over.Wait()
}

// serveFrames writes where its stack is, with i, before it waits and after each wait. The
// predeclared println alone leaves the variable on the stack.
//
//go:noinline
func serveFrames(i int, c net.Conn, size int, call func(r *sluice.BufReader, size int) error, read chan<- struct{}) {
	var here byte
	println("stack", i, &here)
	r := sluice.NewBufReader(c)
	defer r.Recycle()
	for call(r, size) == nil {
		println("stack", i, &here)
		read <- struct{}{}
	}
}
