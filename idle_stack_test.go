//go:build linux && !race

package sluice_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
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
		fmt.Println(grownStacks(t, call))
		return
	}
	for name := range stackCalls {
		t.Run(name, func(t *testing.T) {
			grown := 1 << 20
			for range 4 { // on a busy machine a block may have to be made, which takes more
				cmd := exec.Command(os.Args[0], "-test.run=^TestReaderThatWaitsStaysInTheFirstStack$")
				cmd.Env = append(os.Environ(), stackEnv+"="+name, "GOGC=off", "GOMEMLIMIT=off")
				out, err := cmd.CombinedOutput()
				var once int
				if _, none := fmt.Sscan(string(out), &once); err != nil || none != nil {
					t.Fatalf("%v: %s", err, out)
				}
				grown = min(grown, once)
			}
			if grown > 1024 {
				t.Errorf("the stack of a goroutine that waits in %s, three calls deep, has grown by %d bytes", name, grown)
			}
		})
	}
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

// grownStacks returns by how many bytes the stack of a goroutine grows that gets two frames
// over a connection, and then waits.
func grownStacks(t *testing.T, call func(r *sluice.BufReader, size int) error) int {
	const n, body = 64, 16 << 10
	var before, after runtime.MemStats
	var over sync.WaitGroup
	var ends []net.Conn
	begun, read := make(chan struct{}), make(chan struct{})
	for range n {
		near, far := tcpPair(t)
		ends = append(ends, near, far)
		over.Go(func() {
			<-begun
			serveFrames(sluice.NewBufReader(near), 4+body, call, read)
		})
	}
	runtime.ReadMemStats(&before)
	close(begun)
	p := binary.BigEndian.AppendUint32(nil, body)
	p = append(p, make([]byte, body)...)
	for range 2 {
		for i := 1; i < len(ends); i += 2 {
			if _, err := ends[i].Write(p); err != nil {
				t.Fatal(err)
			}
			<-read // one at a time: a block that has to be made takes more stack than one that is there
		}
	}
	runtime.ReadMemStats(&after)
	for _, c := range ends {
		c.Close()
	}
	over.Wait()
	return (int(after.StackInuse) - int(before.StackInuse)) / n
}

//go:noinline
func serveFrames(r *sluice.BufReader, size int, call func(r *sluice.BufReader, size int) error, read chan<- struct{}) {
	defer r.Recycle()
	for call(r, size) == nil {
		read <- struct{}{}
	}
}
