package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/proc"
	"github.com/sluice-go/sluice/lab/internal/relay"
)

// A relayServer starts a relay, without waiting for it.
type relayServer func(env lab.Env, form string) (relayStarted, error)

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

// sluiceServer is sluice serve, which merges what it sends for so long.
func sluiceServer(merge time.Duration) relayServer {
	return func(env lab.Env, form string) (relayStarted, error) { return startSluice(env, form, merge, false) }
}

// adaptingServer is sluice serve as it comes, which merges for relayMerge at most.
func adaptingServer() relayServer {
	return func(env lab.Env, form string) (relayStarted, error) { return startSluice(env, form, relayMerge, true) }
}

func startSluice(env lab.Env, form string, merge time.Duration, adapt bool) (relayStarted, error) {
	program, err := relayProgram(env.Dir)
	if err != nil {
		return relayStarted{}, err
	}
	args := []string{"serve", "--json", "--rtmp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--rtsp", "127.0.0.1:0", "--webrtc", "127.0.0.1:0", "--pprof", "127.0.0.1:0", "--max-viewers", "0", "--max-viewers-per-address", "0", fmt.Sprintf("--merge-adapt=%v", adapt)}
	if merge == 0 {
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

// allocations begins to count those of the server, and returns what ends that: how many
// there were, without those of asking. For a server without profiles it is NaN.
func (s *relayStarted) allocations() (func() (float64, error), error) {
	if s.profiles == "" {
		return func() (float64, error) { return math.NaN(), nil }, nil
	}
	ask := func() (uint64, error) {
		return proc.Mallocs(context.Background(), "http://"+s.profiles+"/debug/pprof")
	}
	// The first request may allocate what the server then keeps. The difference of the
	// third and the second is what one request costs.
	var readings [3]uint64
	for i := range readings {
		var err error
		if readings[i], err = ask(); err != nil {
			return nil, err
		}
	}
	asked := float64(readings[2] - readings[1])
	return func() (float64, error) {
		now, err := ask()
		return max(0, float64(now)-float64(readings[2])-asked), err
	}, nil
}

// floorServer is the least that a relay can do; 0: nothing is merged.
func floorServer(window time.Duration) relayServer {
	return func(env lab.Env, form string) (relayStarted, error) {
		c, err := startChild(env.Self, "relay-floor", form, window.String())
		return relayStarted{Process: c, form: form, listening: func(s *relayStarted) (err error) {
			s.publish, err = lineOf(s.Process)
			s.view = s.publish
			return err
		}}, err
	}
}

// nginxServer is nginx in one process.
func nginxServer(settings relay.Nginx) relayServer {
	return func(env lab.Env, _ string) (relayStarted, error) {
		cmd, addr, err := settings.Command(env.Dir)
		if err != nil {
			return relayStarted{}, err
		}
		c, err := child.Start(cmd, "nginx")
		// It writes the time from one frame to the next once for all viewers, so that who
		// does not get one has wrong times from there on.
		return relayStarted{Process: c, form: relay.RTMP, publish: addr, view: addr, lax: true, listening: func(s *relayStarted) error {
			return relay.Accepts(addr, childStart, s.Gone())
		}}, err
	}
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
