package scenarios

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/relay"
)

// A relayServer starts a relay, without waiting for it.
type relayServer func(env lab.Env, form string) (relayStarted, error)

// relayStarted is a relay that runs.
type relayStarted struct {
	*child.Process
	form          string           // in which viewers take the stream
	publish, view string           // addresses
	lax           bool             // frames need not have the times that they were published with
	secure        bool             // viewers come over TLS
	before        []*child.Process // servers that this one pulls from
	// listening waits until the server listens, and finds out where.
	listening func(*relayStarted) error
}

// Stop ends the server, and those before it.
func (s relayStarted) Stop() {
	s.Process.Stop()
	for _, p := range s.before {
		p.Stop()
	}
}

// sluiceServer is sluice serve, which merges what it sends for so long.
func sluiceServer(merge time.Duration) relayServer { return serveWith(merge, false) }

// adaptingServer is sluice serve as it comes, which merges for relayMerge at most.
func adaptingServer() relayServer { return serveWith(relayMerge, true) }

func serveWith(merge time.Duration, adapt bool) relayServer {
	return func(env lab.Env, form string) (relayStarted, error) {
		return startSluice(env, form, "--merge", merge.String(), fmt.Sprintf("--merge-adapt=%v", adapt))
	}
}

// startSluice starts sluice serve with further flags.
func startSluice(env lab.Env, form string, flags ...string) (relayStarted, error) {
	program, err := relayProgram(env.Dir)
	if err != nil {
		return relayStarted{}, err
	}
	args := []string{"serve", "--json", "--rtmp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--rtsp", "127.0.0.1:0", "--webrtc", "127.0.0.1:0", "--srt", "127.0.0.1:0", "--max-viewers", "0", "--max-viewers-per-address", "0"}
	cmd := exec.Command(program, append(args, flags...)...)
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
		var at struct{ RTMP, RTMPS, HTTP string }
		if err := json.Unmarshal([]byte(line), &at); err != nil || at.RTMP == "" || at.HTTP == "" {
			return fmt.Errorf("scenarios: the server said %.120q: %v", line, err)
		}
		s.publish, s.view = at.RTMP, at.RTMP
		if form == relay.FLV {
			s.view = at.HTTP
		}
		if s.secure {
			s.view = at.RTMPS
		}
		return nil
	}}, nil
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
