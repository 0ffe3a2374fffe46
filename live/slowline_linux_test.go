package live

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inNamespace runs f on a thread with a network namespace of its own, which
// goes with the thread and with what f has opened there.
func inNamespace(t *testing.T, f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

func run(lines ...string) error {
	for _, line := range lines {
		f := strings.Fields(line)
		if out, err := exec.Command(f[0], f[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %v: %s", line, err, out)
		}
	}
	return nil
}

// narrowPair returns the two ends of a TCP connection over a line that carries
// so many bytes a second to the client and holds few of them back. What the
// client says is not slowed.
func narrowPair(t *testing.T, rate int) (server, client *net.TCPConn) {
	t.Helper()
	err := inNamespace(t, func() error {
		own := unix.Gettid()
		var l net.Listener
		err := inNamespace(t, func() error {
			err := run(
				"ip link set lo up",
				fmt.Sprintf("ip link add far type veth peer name near netns %d", own),
				"ip addr add 10.0.0.2/24 dev far",
				"ip link set far up",
			)
			if err == nil {
				l, err = net.Listen("tcp", "10.0.0.2:0")
			}
			return err
		})
		if err == nil {
			defer l.Close()
			err = run(
				"ip addr add 10.0.0.1/24 dev near",
				"ip link set near up",
				fmt.Sprintf("tc qdisc add dev near root tbf rate %dbps burst 4kb limit 24kb", rate),
			)
		}
		if err != nil {
			return err
		}
		s, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return err
		}
		c, err := l.Accept()
		if err != nil {
			return err
		}
		server, client = s.(*net.TCPConn), c.(*net.TCPConn)
		t.Cleanup(func() { s.Close(); c.Close() })
		return nil
	})
	if err == unix.EPERM {
		t.Skip("a slow line needs a network namespace, and that the right to make one")
	} else if err != nil {
		t.Fatal(err)
	}
	client.SetDeadline(time.Now().Add(time.Minute))
	return server, client
}

// arrival is a tag and when its last byte came.
type arrival struct {
	tag
	at time.Time
}

// readArrivals reads an FLV file until its end.
func readArrivals(r io.Reader) (list []arrival, file []byte, err error) {
	b := make([]byte, 64<<10)
	rest := 13 // where the bytes begin that are no whole tag yet
	for {
		n, err := r.Read(b)
		now := time.Now()
		file = append(file, b[:n]...)
		for len(file) >= rest+11 {
			size := int(binary.BigEndian.Uint32(file[rest:])&0xFFFFFF) + 15
			if len(file) < rest+size {
				break
			}
			tags, _ := readTags(file[rest : rest+size])
			list = append(list, arrival{tags[0], now})
			rest += size
		}
		if err == io.EOF {
			return list, file, nil
		} else if err != nil {
			return list, file, err
		}
	}
}

// On a line that carries less than the stream a viewer stays near live: what it
// gets comes within the time that WriterOptions.Lag says, and can be decoded. The
// figures say how far behind it is.
func TestSlowLines(t *testing.T) {
	const length = 8 // seconds
	clip := clipTags(t)
	var bytesOfClip int
	for _, g := range clip {
		bytesOfClip += len(g.body) + 15
	}
	rate := bytesOfClip / 10 // the clip has ten seconds
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{Merge: 40 * time.Millisecond})
	type watcher struct {
		name    string
		share   float64
		v       *Viewer
		list    []arrival
		file    []byte
		samples []lagSample
	}
	var watchers []*watcher
	var reading sync.WaitGroup
	for _, c := range []struct {
		share float64
		over  string
	}{{0.3, "tcp"}, {0.5, "tcp"}, {0.5, "tls"}, {0.5, "wire"}, {0.8, "tcp"}, {1, "tcp"}, {4, "tcp"}, {4, "wire"}} {
		s, end := narrowPair(t, int(float64(rate)*c.share))
		x := &watcher{share: c.share, name: fmt.Sprintf("%.0f%% %s", c.share*100, c.over)}
		watchers = append(watchers, x)
		var from io.Reader = end
		var to net.Conn = s
		switch c.over {
		case "tls":
			to, from = tlsPair(t, s, end)
		case "wire":
			to, from = wirePair(t, s, end)
		}
		x.v = add(t, w, to, p.Stream(), ViewerOptions{FromStart: true, Merge: -1})
		reading.Go(func() {
			var err error
			if x.list, x.file, err = readArrivals(from); err != nil {
				t.Errorf("%s: %v", x.name, err)
			}
		})
	}

	published := map[string]time.Time{}
	key := func(g tag) string { return fmt.Sprint(g.typ, g.time, len(g.body)) }
	began := time.Now()
	sample := began
	var behind time.Duration // of this test itself
	for _, g := range clip[:len(clip)*length/10] {
		<-time.After(time.Until(began.Add(time.Duration(g.time) * time.Millisecond)))
		published[key(g)] = time.Now()
		behind = max(behind, time.Since(began)-time.Duration(g.time)*time.Millisecond)
		send(t, p, g)
		if now := time.Now(); now.Sub(sample) > 100*time.Millisecond {
			sample = now
			for _, x := range watchers {
				lag := x.v.Stats().Lag
				x.samples = append(x.samples, lagSample{time.Now(), lag})
			}
		}
	}
	ended := time.Now()
	p.Close()
	reading.Wait()

	for _, x := range watchers {
		var late, off []time.Duration
		for _, a := range x.list {
			if from, ok := published[key(a.tag)]; ok && a.typ != 18 && a.at.Before(ended) { // metadata may come again, and the end comes whole
				late = append(late, a.at.Sub(from))
			}
		}
		for _, s := range x.samples {
			off = append(off, (s.lag - trueLag(x.list, s.at, func(g tag) time.Time { return published[key(g)] })).Abs())
		}
		slices.Sort(off)
		slices.Sort(late)
		// Of a frame that waits here, nothing says yet whether it will be left
		// out: so some samples are off.
		most, worst := off[len(off)/2], late[len(late)*98/100]
		st := x.v.Stats()
		t.Logf("%-14s %4d tags, %4d left out, %2d jumps; on arrival 98 %% are not older than %v, all not than %v; lag off by %v at the median", x.name, len(x.list), st.Dropped, st.Jumps,
			worst.Round(time.Millisecond), late[len(late)-1].Round(time.Millisecond), most.Round(time.Millisecond))
		if behind > 100*time.Millisecond {
			t.Logf("the machine is too busy to judge times: the test itself was behind by %v", behind)
			most, worst = 0, 0
		}
		if worst > 2*time.Second {
			t.Errorf("%s: tags came after %v", x.name, worst)
		}
		if most > 100*time.Millisecond {
			t.Errorf("%s: the lag in the figures is off by %v", x.name, most)
		}
		if x.share < 0.9 && st.Jumps == 0 || x.share > 1 && st.Dropped > 0 {
			t.Errorf("%s: %+v", x.name, st)
		}
		decodes(t, x.name, x.file)
	}
}

// lagSample is what the figures said at some time.
type lagSample struct {
	at  time.Time
	lag time.Duration
}

// trueLag is the age, at the given time, of the oldest tag that was published by
// then and came later.
func trueLag(list []arrival, at time.Time, published func(tag) time.Time) time.Duration {
	for _, a := range list {
		if from := published(a.tag); a.at.After(at) && from.Before(at) && !from.IsZero() {
			return at.Sub(from)
		}
	}
	return 0
}

// decodes checks that ffmpeg has nothing to say about a file.
func decodes(t *testing.T, name string, file []byte) {
	t.Helper()
	cmd := exec.Command("ffmpeg", "-v", "error", "-nostdin", "-f", "flv", "-i", "pipe:0", "-f", "null", "-")
	cmd.Stdin = bytes.NewReader(file)
	out, err := cmd.CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%s: ffmpeg: %v: %.600s", name, err, out)
	}
}
