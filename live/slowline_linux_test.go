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

// A witness is a line of the test's own, as narrow as a viewer's, that the package has nothing
// to do with. What comes late over it the machine has delayed: a goroutine that did not
// run, a kernel that did not pass on.
type witness struct {
	stop chan struct{}
	done sync.WaitGroup
	late time.Duration // the most, when done
}

const (
	witnessEvery = 20 * time.Millisecond
	witnessBytes = 64 // in each packet, a small part of what the line carries
)

func newWitness(t *testing.T, rate int) *witness {
	s, c := narrowPair(t, rate)
	x := &witness{stop: make(chan struct{})}
	began := time.Now()
	x.done.Go(func() {
		tick := time.NewTicker(witnessEvery)
		defer tick.Stop()
		b := make([]byte, witnessBytes)
		for {
			// When it was due, so that a delay of this goroutine counts too.
			binary.BigEndian.PutUint64(b, uint64(time.Since(began)))
			select {
			case <-x.stop:
				s.CloseWrite()
				return
			case <-tick.C:
			}
			if _, err := s.Write(b); err != nil {
				t.Errorf("the witness: %v", err)
				return
			}
		}
	})
	x.done.Go(func() {
		b := make([]byte, witnessBytes)
		for {
			_, err := io.ReadFull(c, b)
			if err == io.EOF {
				return
			} else if err != nil {
				t.Errorf("the witness: %v", err)
				return
			}
			x.late = max(x.late, time.Since(began)-time.Duration(binary.BigEndian.Uint64(b))-witnessEvery)
		}
	})
	return x
}

// end returns by how much the machine has delayed something, at most.
func (x *witness) end() time.Duration {
	close(x.stop)
	x.done.Wait()
	return x.late
}

// On a line that carries less than the stream a viewer stays near live: what it
// gets comes within the time that WriterOptions.Lag says, and can be decoded. The
// figures say how far behind it is. Times are judged when the machine kept its own;
// TestLatenessOnSlowLines judges them on every machine.
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
	w := newWriter(t, WriterOptions{Merge: 40 * time.Millisecond, Lag: 2 * time.Second})
	type watcher struct {
		name  string
		share float64
		v     *Viewer
		arrivals
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
			if err := x.read(from); err != nil {
				t.Errorf("%s: %v", x.name, err)
			}
		})
	}

	watch, processor := newWitness(t, rate*3/10), newStarved()
	when := make(published)
	began := time.Now()
	sample := began
	var behind time.Duration // of this goroutine
	clip = clip[:len(clip)*length/10]
	for _, g := range clip {
		<-time.After(time.Until(began.Add(time.Duration(g.time) * time.Millisecond)))
		when.add(g)
		behind = max(behind, time.Since(began)-time.Duration(g.time)*time.Millisecond)
		send(t, p, g)
		if now := time.Now(); now.Sub(sample) > 100*time.Millisecond {
			sample = now
			processor.look()
			for _, x := range watchers {
				lag := x.v.Stats().Lag
				x.samples = append(x.samples, lagSample{time.Now(), lag})
			}
		}
	}
	ended := time.Now()
	waited := processor.worst()
	machine := max(watch.end(), behind, waited)
	p.Close()
	reading.Wait()
	t.Logf("the machine was late by %v, at most; %v waiting for a processor", machine.Round(time.Millisecond), waited.Round(time.Millisecond))
	judged := machine <= 100*time.Millisecond
	if !judged {
		t.Log("that is too much to judge times")
	}

	for _, x := range watchers {
		late := when.late(x.list, ended) // the end comes whole
		var off []time.Duration
		for _, s := range x.samples {
			off = append(off, (s.lag - trueLag(x.list, s.at, func(g tag) time.Time { return when[when.key(g)] })).Abs())
		}
		slices.Sort(off)
		slices.Sort(late)
		waitFor(t, x.v.Done(), "end of the viewer: "+x.name)
		st, again := x.v.Stats(), when.again(x.list)
		t.Logf("%-14s %4d tags, %4d left out, %2d jumps, %2d headers again", x.name, len(x.list), st.Dropped, st.Jumps, again)
		if st.Frames+st.Dropped != int64(len(clip)) || len(x.list) != int(st.Frames)+again {
			t.Errorf("%s: %d tags came of %d, %d of them again; figures: %+v", x.name, len(x.list), len(clip), again, st)
		}
		decodes(t, x.name, x.file)
		if len(off) == 0 || len(late) == 0 {
			if judged {
				t.Errorf("%s: nothing came before the end", x.name)
			}
			continue
		}
		// Of a frame that waits here, nothing says yet whether it will be left
		// out: so some samples are off.
		most, worst := off[len(off)/2], late[len(late)*98/100]
		t.Logf("%-14s on arrival 98 %% are not older than %v, all not than %v; lag off by %v at the median", x.name,
			worst.Round(time.Millisecond), late[len(late)-1].Round(time.Millisecond), most.Round(time.Millisecond))
		if !judged {
			continue
		}
		if worst > w.options.Lag {
			t.Errorf("%s: tags came after %v", x.name, worst)
		}
		if most > 100*time.Millisecond {
			t.Errorf("%s: the lag in the figures is off by %v", x.name, most)
		}
		if x.share < 0.9 && st.Jumps == 0 || x.share > 1 && st.Dropped > 0 {
			t.Errorf("%s: %+v", x.name, st)
		}
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
