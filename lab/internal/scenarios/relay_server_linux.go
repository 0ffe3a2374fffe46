package scenarios

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/relay"
)

// A relayServer is a relay that can be started.
type relayServer interface {
	// start starts it, without waiting for it.
	start(env lab.Env, form string) (relayStarted, error)
}

// relayStarted is a relay that runs.
type relayStarted struct {
	*child.Process
	form          string // in which viewers take the stream
	publish, view string // addresses
	api           string // address of its figures; empty: it has none
	profiles      string // address of its profiles
	lax           bool   // frames need not have the times that they were published with
	// listening waits until the server listens, and finds out where.
	listening func(*relayStarted) error
}

func (s *relayStarted) await() error { return s.listening(s) }

func (s *relayStarted) pid() int { return s.PID() }

// sluiceServer is sluice serve.
type sluiceServer struct {
	now bool // nothing is merged
}

func (v sluiceServer) start(env lab.Env, form string) (relayStarted, error) {
	program, err := relayProgram(env.Dir)
	if err != nil {
		return relayStarted{}, err
	}
	args := []string{"serve", "--json", "--rtmp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--rtsp", "127.0.0.1:0", "--pprof", "127.0.0.1:0", "--max-viewers", "0", "--max-viewers-per-address", "0", "--merge-adapt=false"}
	merge := relayMerge
	if v.now {
		merge = 0
		args = append(args, "--merge", "0s")
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	c, err := child.Start(cmd, "serve")
	if err != nil {
		return relayStarted{}, err
	}
	return relayStarted{Process: c, form: form, listening: func(s *relayStarted) error {
		line, err := lineOf(s.Process)
		if err != nil {
			return err
		}
		var at struct{ RTMP, HTTP, PProf string }
		if err := json.Unmarshal([]byte(line), &at); err != nil || at.RTMP == "" || at.HTTP == "" {
			return fmt.Errorf("scenarios: the server said %.120q: %v", line, err)
		}
		s.publish, s.view, s.api, s.profiles = at.RTMP, at.RTMP, at.HTTP, at.PProf
		if form == relay.FLV {
			s.view = at.HTTP
		}
		return s.merges(merge)
	}}, nil
}

// merges makes sure that the server collects frames for as long as it is
// compared with.
func (s *relayStarted) merges(want time.Duration) error {
	text, err := get(s.api, "/api/streams")
	if err != nil {
		return err
	}
	var at struct {
		Server struct {
			Merge *float64 `json:"merge_ms"`
		}
	}
	if err := json.Unmarshal(text, &at); err != nil {
		return fmt.Errorf("scenarios: /api/streams of the server: %w", err)
	}
	if at.Server.Merge == nil || *at.Server.Merge != float64(want.Milliseconds()) {
		return fmt.Errorf("scenarios: the server does not merge for %v, which the floor is told to: %.200s", want, text)
	}
	return nil
}

func get(addr, path string) ([]byte, error) {
	// Each request has its own connection, so that none stays open between requests.
	// No compression: what it allocates depends on the last garbage collection.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}, Timeout: childStart}
	response, err := client.Get("http://" + addr + path)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<20))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("scenarios: %s of the server: %s", path, response.Status)
	}
	return text, err
}

// relayAllocs counts the allocations of a server, without those of the counting.
type relayAllocs struct {
	server      *relayStarted
	last, asked float64 // asked is what it takes to ask once
}

// allocations begins to count. For a server without profiles the count is NaN.
func (s *relayStarted) allocations() (relayAllocs, error) {
	a := relayAllocs{server: s, last: math.NaN(), asked: math.NaN()}
	if s.profiles == "" {
		return a, nil
	}
	// The first request may allocate what the server then keeps. The difference of the
	// third and the second is what one request costs.
	var counts [3]float64
	for i := range counts {
		var err error
		if counts[i], err = s.mallocs(); err != nil {
			return a, err
		}
	}
	a.last, a.asked = counts[2], counts[2]-counts[1]
	return a, nil
}

// since is how many there were since, without those of asking.
func (a relayAllocs) since() (float64, error) {
	if math.IsNaN(a.last) {
		return a.last, nil
	}
	now, err := a.server.mallocs()
	return max(0, now-a.last-a.asked), err
}

// mallocs asks for the server's allocations so far. Its metrics have them too, but
// up to the latest collection only; what stands in a heap profile is exact.
func (s *relayStarted) mallocs() (float64, error) {
	text, err := get(s.profiles, "/debug/pprof/heap?debug=1")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "# Mallocs = "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("scenarios: the server's heap profile does not have its allocations")
}

// floorServer is the least that a relay can do.
type floorServer struct {
	window time.Duration // 0: nothing is merged
}

func (v floorServer) start(env lab.Env, form string) (relayStarted, error) {
	c, err := startChild(env.Self, "relay-floor", form, v.window.String())
	if err != nil {
		return relayStarted{}, err
	}
	return relayStarted{Process: c, form: form, listening: func(s *relayStarted) (err error) {
		s.publish, err = lineOf(s.Process)
		s.view = s.publish
		return err
	}}, nil
}

// nginxServer is nginx in one process.
type nginxServer struct{ settings relay.Nginx }

func (v nginxServer) start(env lab.Env, _ string) (relayStarted, error) {
	cmd, addr, err := v.settings.Command(env.Dir)
	if err != nil {
		return relayStarted{}, err
	}
	c, err := child.Start(cmd, "nginx")
	if err != nil {
		return relayStarted{}, err
	}
	// It writes the time from one frame to the next once for all viewers, so that who
	// does not get one has wrong times from there on.
	return relayStarted{Process: c, form: relay.RTMP, publish: addr, view: addr, lax: true, listening: func(s *relayStarted) error {
		return relay.Accepts(addr, childStart, s.Gone())
	}}, nil
}

var _ = registerChild("relay-floor", func(args []string) error {
	if err := childArgs("relay-floor", args, "FORM", "WINDOW"); err != nil {
		return err
	}
	window, err := time.ParseDuration(args[1])
	if err != nil {
		return fmt.Errorf("scenarios: %w", err)
	}
	child.Expire(childLife)
	runtime.GOMAXPROCS(1)
	return relay.ServeFloor(args[0], window, os.Stdin, os.Stdout)
})

// relay-load is the child that publishes and has the viewers.
var _ = registerChild("relay-load", func(args []string) error {
	if err := childArgs("relay-load", args); err != nil {
		return err
	}
	child.Expire(childLife)
	return relay.RunLoad(os.Stdin, os.Stdout)
})
