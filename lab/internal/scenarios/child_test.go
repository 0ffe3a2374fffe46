package scenarios

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/cli"
)

// TestMain makes the test binary answer the child commands and serve, as the
// program does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		os.Exit(cli.App{Stdout: os.Stdout, Stderr: os.Stderr}.Main(os.Args[1:]))
	}
	if len(os.Args) > 2 && os.Args[1] == "child" {
		if err := Children()[os.Args[2]](os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// self is the path of this binary.
func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// awaitEnd waits for a child that has every reason to end.
func awaitEnd(t *testing.T, c *child.Process) {
	t.Helper()
	select {
	case <-c.Gone():
	case <-time.After(time.Minute):
		t.Fatalf("the child lives on: %v", c.Why())
	}
}

func startWriter(t *testing.T) (*child.Process, *net.TCPConn) {
	t.Helper()
	l, err := listenLocal()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := tcpWriter.start(self(t), tcpWork{l.Addr().String(), frameKind{1, 64, 64}, 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	conn, err := acceptFrom(l, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return c, conn
}

func TestWriterEndsWithItsParent(t *testing.T) {
	c, conn := startWriter(t)
	if _, err := io.ReadFull(conn, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	// What a parent that is killed leaves is a closed pipe.
	c.CloseStdin()
	awaitEnd(t, c)
	if err := c.Wait(t.Context(), time.Second); err != nil {
		t.Errorf("the child failed: %v", err)
	}
}

func TestWriterEndsWhenTheReaderHangsUp(t *testing.T) {
	c, conn := startWriter(t)
	if _, err := io.ReadFull(conn, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	awaitEnd(t, c)
	if err := c.Wait(t.Context(), time.Second); err != nil {
		t.Errorf("the child failed: %v", err)
	}
}

func TestStopIsTheEndOfAChildThatIsStuck(t *testing.T) {
	c, _ := startWriter(t) // the test reads nothing: the child blocks in a write
	c.Stop()
	select {
	case <-c.Gone():
	default:
		t.Error("stop returned before the process was gone")
	}
}

func TestAChildThatFailsSaysWhy(t *testing.T) {
	l, err := listenLocal()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := tcpWriter.start(self(t), tcpWork{l.Addr().String(), frameKind{}, 7})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	_, err = acceptFrom(l, c)
	if err == nil || !strings.Contains(err.Error(), "Conns:7} is no work") {
		t.Errorf("the error does not say why the child failed: %v", err)
	}
	if _, err := lineOf(c); !errors.Is(err, io.EOF) {
		t.Errorf("a line of a child that said nothing: %v", err)
	}
}

func TestAChildCommandRefusesBadArguments(t *testing.T) {
	bad := map[string][]string{
		"tcp-writer":  {"", "{}", `{"Addr":"127.0.0.1:1","Kind":{"Lo":9,"Hi":5},"Conns":1}`, `{"Addr":"127.0.0.1:1","Kind":{"Lo":1,"Hi":999999999},"Conns":1}`, `{"Addr":"127.0.0.1:1","Kind":{"Lo":1,"Hi":5}}`},
		"tcp-reader":  {"", `{"Addr":"127.0.0.1:1","Kind":{"Lo":0,"Hi":5},"Conns":1}`},
		"echo-server": {"", `{"Server":"nobody","Size":128}`, `{"Server":"aio","Size":"x"}`, `{"Server":"aio","Size":1}`},
		"relay-floor": {"", `{"Form":"rtmp","Window":"soon"}`, `{"Form":"hls"}`, `{"Form":"flv","Window":-1}`},
		"relay-load":  {"", "{}"},
		"echo-client": {"", `{"Addr":"nowhere","Size":128}`, `{"Addr":"127.0.0.1:1","Size":0}`, `{"Addr":"127.0.0.1:1","Size":1}`},
	}
	children := Children()
	if len(bad) != len(children) {
		t.Errorf("%d commands are tested, there are %d", len(bad), len(children))
	}
	for name, lists := range bad {
		for _, work := range lists {
			if err := children[name]([]string{work}); err == nil {
				t.Errorf("child %s %q did not fail", name, work)
			}
		}
	}
}

func TestNoProgramNoChild(t *testing.T) {
	if _, err := tcpWriter.start("", tcpWork{}); err == nil {
		t.Error("a child of no program was started")
	}
	if _, err := tcpWriter.start("/nonexistent/program", tcpWork{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a child of a program that is not there: %v", err)
	}
}

// TestTheReaderEndsOnOtherBytes lets a child see that what it got is not what
// it was promised.
func TestTheReaderEndsOnOtherBytes(t *testing.T) {
	l, err := listenLocal()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := tcpReader.start(self(t), tcpWork{l.Addr().String(), frameKind{1, 64, 64}, 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	conn, err := acceptFrom(l, c)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(append([]byte{0, 0, 0, 0, 0, 0, 0, 9}, make([]byte, 9*68)...)); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, c)
	if err := c.Wait(t.Context(), time.Second); err == nil || !strings.Contains(c.Said(), errDiffers.Error()) {
		t.Errorf("the child ended with %v", err)
	}
}
