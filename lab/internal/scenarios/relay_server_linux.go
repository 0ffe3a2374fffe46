package scenarios

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/echobench"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/relay"
)

// A relayServer starts a relay whose viewers take the stream in a form, and returns when it
// listens.
type relayServer func(env lab.Env, form string) (relayStarted, error)

type relayStarted struct {
	*child.Process
	form          string                                      // in which viewers take the stream
	publish, view string                                      // addresses
	at            struct{ RTMP, RTMPS, HTTP, Cluster string } // those of sluice serve
	lax           bool                                        // frames need not have the times that they were published with
	waits         bool                                        // viewers ask it to wait for their stream, of which it hears from another
	before        []*child.Process                            // servers that belong to it
}

// listening completes a relay by what find learns of a process that was started, or ends it.
func (s relayStarted) listening(p *child.Process, err error, find func(*relayStarted) error) (relayStarted, error) {
	if err != nil {
		return s, err
	}
	s.Process = p
	if err = find(&s); err != nil {
		s.Stop()
	}
	return s, err
}

// Stop ends the server, and those before it.
func (s relayStarted) Stop() {
	for _, p := range append([]*child.Process{s.Process}, s.before...) {
		p.Stop()
	}
}

// mergeAlways has sluice serve collect what it sends for relayMerge, also when there is little.
const mergeAlways = "--merge-adapt=false"

func sluiceServer(flags ...string) relayServer {
	return func(env lab.Env, form string) (relayStarted, error) { return startSluice(env, form, flags...) }
}

func tlsServer(env lab.Env, form string) (relayStarted, error) {
	cert, key, err := echobench.CertificateFiles(env.Dir)
	if err != nil {
		return relayStarted{}, err
	}
	s, err := startSluice(env, form, mergeAlways, "--rtmps", "127.0.0.1:0", "--cert", cert, "--key", key)
	s.view = s.at.RTMPS
	return s, err
}

func cascadeServer(n int, flags ...string) relayServer {
	return func(env lab.Env, form string) (relayStarted, error) {
		all, err := startServers(n, func(before []relayStarted) (relayStarted, error) {
			if len(before) == 0 {
				return startSluice(env, form, flags...)
			}
			return startSluice(env, form, append([]string{"--origin", "rtmp://" + before[len(before)-1].publish}, flags...)...)
		})
		if err != nil {
			return relayStarted{}, err
		}
		return asOne(all, n-1, all[n-1].view), nil
	}
}

func startServers(n int, start func(before []relayStarted) (relayStarted, error)) (all []relayStarted, err error) {
	for i := range n {
		s, err := start(all)
		if err != nil {
			for _, s := range all {
				s.Stop()
			}
			return nil, fmt.Errorf("scenarios: server %d of %d: %w", i+1, n, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// asOne is servers of which one is measured, published to at the first, and watched at
// these addresses.
func asOne(all []relayStarted, measured int, view ...string) relayStarted {
	s := all[measured]
	for i := range all {
		if i != measured {
			s.before = append(s.before, all[i].Process)
		}
	}
	s.publish, s.view, s.waits = all[0].publish, strings.Join(view, ","), true
	return s
}

func startSluice(env lab.Env, form string, flags ...string) (relayStarted, error) {
	program, err := relayProgram(env.Dir)
	if err != nil {
		return relayStarted{}, err
	}
	args := []string{"serve", "--json", "--rtmp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--rtsp", "127.0.0.1:0", "--webrtc", "127.0.0.1:0", "--srt", "127.0.0.1:0", "--max-viewers", "0", "--max-viewers-per-address", "0"}
	cmd := exec.Command(program, append(args, flags...)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "SLUICE_CLUSTER_SECRET=a secret of the lab, long enough")
	c, err := child.Start(cmd, "serve")
	return relayStarted{form: form}.listening(c, err, func(s *relayStarted) error {
		line, err := lineOf(s.Process)
		if err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(line), &s.at); err != nil || s.at.RTMP == "" || s.at.HTTP == "" {
			return fmt.Errorf("scenarios: the server said %.120q: %v", line, err)
		}
		s.publish, s.view = s.at.RTMP, s.at.RTMP
		if form == relay.FLV {
			s.view = s.at.HTTP
		}
		return nil
	})
}

// floorServer is the least that a relay can do, with sealed of one whose viewers come over
// TLS; a window of 0: nothing is merged.
func floorServer(window time.Duration, sealed bool) relayServer {
	return func(env lab.Env, form string) (relayStarted, error) {
		c, err := relayFloor.start(env.Self, relay.Floor{Form: form, Window: window, Sealed: sealed})
		return relayStarted{form: form}.listening(c, err, func(s *relayStarted) (err error) {
			s.publish, err = lineOf(s.Process)
			s.view = s.publish
			return err
		})
	}
}

func nginxServer(settings relay.Nginx) relayServer {
	return func(env lab.Env, _ string) (relayStarted, error) {
		cmd, addr, err := settings.Command(env.Dir)
		if err != nil {
			return relayStarted{}, err
		}
		c, err := child.Start(cmd, "nginx")
		// It writes the time from one frame to the next once for all viewers, so that who
		// does not get one has wrong times from there on.
		return relayStarted{form: relay.RTMP, publish: addr, view: addr, lax: true}.listening(c, err, func(s *relayStarted) error {
			return relay.Accepts(addr, child.Within, s.Gone())
		})
	}
}

var relayFloor = registerChild("relay-floor", func(f relay.Floor) error {
	runtime.GOMAXPROCS(1)
	return f.Serve(os.Stdin, os.Stdout)
})
