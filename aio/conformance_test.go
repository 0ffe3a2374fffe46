package aio_test

import (
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/sluicetest"
)

// A capability is what not every driver promises.
type capability uint

const (
	delegates       capability = 1 << iota // the connection's own methods fail after the first submission
	collects                               // connections and watchers that the program forgot are closed
	idleFree                               // a pending read without a buffer holds no memory
	fixedGoroutines                        // as many goroutines at 10,000 connections as at one
	pins                                   // SetLoopAffinity works
	anyConn                                // every net.Conn will do, not only those with a descriptor
	gathers                                // what is queued goes out in few system calls
)

func (c capability) String() string {
	var names []string
	for i, name := range []string{
		"delegates", "collects", "idleFree", "fixedGoroutines", "pins", "anyConn", "gathers",
	} {
		if c&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "+")
}

// drivers is what each driver promises.
var drivers = []struct {
	driver aio.Driver
	can    capability
}{
	{aio.Epoll, delegates | collects | idleFree | fixedGoroutines | pins | gathers},
	{aio.Kqueue, delegates | collects | idleFree | fixedGoroutines | gathers},
	{aio.Std, anyConn},
}

// A behaviour is one line of the suite. It runs on every driver and on every
// network that it is for, and once for every way to cut what the peer sends when
// it is about reading.
type behaviour struct {
	name string
	// run checks it. A driver without needs runs instead, or is skipped.
	run     func(*fixture)
	needs   capability
	instead func(*fixture)
	// on are its networks; tcp and unix unless set.
	on []string
	// everyCut runs it for all of cuts, and not only for pieces of random size.
	everyCut bool
	// options changes those of its watcher.
	options func(*aio.Options)
	// longSkip is set on what takes seconds: not under -short.
	longSkip bool
}

// suite is filled by the files that check one subject each.
var suite []behaviour

var (
	streams   = []string{"tcp", "unix"}
	everyConn = []string{"tcp", "unix", "pipe", "tls"}
	onlyTCP   = []string{"tcp"}
)

// TestConformance runs the suite: driver/behaviour/network/cut.
func TestConformance(t *testing.T) {
	checkNames(t)
	for _, d := range drivers {
		t.Run(d.driver.String(), func(t *testing.T) {
			requireDriver(t, d.driver)
			for _, b := range suite {
				t.Run(b.name, func(t *testing.T) { runBehaviour(t, d.driver, d.can, b) })
			}
		})
	}
}

// checkNames makes sure that no behaviour hides behind another's name.
func checkNames(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range suite {
		if seen[b.name] {
			t.Errorf("two behaviours are called %q", b.name)
		}
		seen[b.name] = true
	}
}

// requireDriver skips the test on systems that do not have the driver. Those
// that must have it fail.
func requireDriver(t *testing.T, d aio.Driver) {
	t.Helper()
	w, err := aio.NewWatcherOptions(aio.Options{Driver: d})
	native := map[string]aio.Driver{"linux": aio.Epoll, "darwin": aio.Kqueue}[runtime.GOOS]
	switch {
	case err == nil:
		if err := w.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	case d != native && d != aio.Std && errors.Is(err, aio.ErrUnsupported):
		t.Skipf("not on %s: %v", runtime.GOOS, err)
	default:
		t.Fatalf("%v on %s: %v", d, runtime.GOOS, err)
	}
}

func runBehaviour(t *testing.T, d aio.Driver, can capability, b behaviour) {
	run := b.run
	if lacking := b.needs &^ can; lacking != 0 {
		run = b.instead
		if run == nil {
			t.Skipf("%v does not promise %v", d, lacking)
		}
	}
	if b.longSkip && testing.Short() {
		t.Skip("takes seconds")
	}
	networks := b.on
	if networks == nil {
		networks = streams
		if sys.Race { // the second kind of stream makes no other data races
			networks = streams[:1]
		}
	}
	all := cuts()
	if !b.everyCut || sys.Race { // the cuts make no other data races
		all = all[len(all)-1:]
	}
	for _, network := range networks {
		t.Run(network, func(t *testing.T) {
			if can&anyConn == 0 && b.needs&anyConn == 0 && !slices.Contains([]string{"tcp", "unix", "unixpacket"}, network) {
				t.Skipf("%v takes no %s connections", d, network)
			}
			for _, c := range all {
				if !b.everyCut {
					run(newFixture(t, d, can, network, c, b.options))
					return
				}
				t.Run(c, func(t *testing.T) { run(newFixture(t, d, can, network, c, b.options)) })
			}
		})
	}
}

// cuts are the names of the ways in which a peer cuts what it sends; the last
// one is the plainest that is not even. Chunkings knows more of them, which are
// about readers and make no difference to who sends.
func cuts() []string {
	var names []string
	for name := range sluicetest.Chunkings(nil) {
		if !strings.Contains(name, ", EOF") && !strings.Contains(name, ", empty") {
			names = append(names, name)
		}
	}
	return names
}

// pieces returns data cut in the way that is called cut.
func pieces(cut string, data []byte) io.Reader {
	for name, r := range sluicetest.Chunkings(data) {
		if name == cut {
			return r
		}
	}
	panic("no cut is called " + cut)
}
