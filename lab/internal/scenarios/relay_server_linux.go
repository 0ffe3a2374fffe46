package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/echobench"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/relay"
)

// A relayServer starts a relay whose viewers take the stream in a form, and returns when it
// listens.
type relayServer func(env lab.Env, form string) (relayStarted, error)

// relayStarted is a relay that listens.
type relayStarted struct {
	*child.Process
	form          string           // in which viewers take the stream
	publish, view string           // addresses
	lax           bool             // frames need not have the times that they were published with
	waits         bool             // viewers ask it to wait for their stream, of which it hears from another
	before        []*child.Process // servers that belong to it
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

// sluiceServer is sluice serve with these flags.
func sluiceServer(flags ...string) relayServer {
	return func(env lab.Env, form string) (relayStarted, error) {
		s, _, err := startSluice(env, form, flags...)
		return s, err
	}
}

// tlsServer is sluice serve whose viewers come by RTMPS.
func tlsServer(env lab.Env, form string) (relayStarted, error) {
	cert, key, err := echobench.CertificateFiles(env.Dir)
	if err != nil {
		return relayStarted{}, err
	}
	s, at, err := startSluice(env, form, mergeAlways, "--rtmps", "127.0.0.1:0", "--cert", cert, "--key", key)
	if err == nil {
		s.view = at.RTMPS
	}
	return s, err
}

// cascadeServer is n servers of which each has its streams from the one before: published to
// at the first, watched and measured at the last.
func cascadeServer(n int, flags ...string) relayServer {
	return chainServer(n, func(_ int, before *serveAddresses) []string {
		if before == nil {
			return flags
		}
		return append([]string{"--origin", "rtmp://" + before.RTMP}, flags...)
	})
}

// edgeServer is a node of a cluster, published to at another one.
func edgeServer(flags ...string) relayServer {
	return chainServer(2, func(i int, before *serveAddresses) []string {
		node := append([]string{"--cluster", "--cluster-address", "127.0.0.1:0", "--node-name", fmt.Sprint("n", i)}, flags...)
		if before != nil {
			node = append(node, "--join", before.Cluster)
		}
		return node
	})
}

func chainServer(n int, flags func(i int, before *serveAddresses) []string) relayServer {
	return func(env lab.Env, form string) (last relayStarted, err error) {
		var before []*child.Process
		var at *serveAddresses
		first := ""
		for i := range n {
			if last, at, err = startSluice(env, form, flags(i, at)...); err != nil {
				for _, p := range before {
					p.Stop()
				}
				return last, fmt.Errorf("scenarios: server %d of %d: %w", i+1, n, err)
			}
			if i == 0 {
				first = last.publish
			}
			before = append(before, last.Process)
		}
		last.publish, last.before, last.waits = first, before[:n-1], true
		return last, nil
	}
}

// serveAddresses are what sluice serve says where it listens.
type serveAddresses struct{ RTMP, RTMPS, HTTP, Cluster string }

// startSluice starts sluice serve with further flags.
func startSluice(env lab.Env, form string, flags ...string) (relayStarted, *serveAddresses, error) {
	program, err := relayProgram(env.Dir)
	if err != nil {
		return relayStarted{}, nil, err
	}
	args := []string{"serve", "--json", "--rtmp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--rtsp", "127.0.0.1:0", "--webrtc", "127.0.0.1:0", "--srt", "127.0.0.1:0", "--max-viewers", "0", "--max-viewers-per-address", "0"}
	cmd := exec.Command(program, append(args, flags...)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "SLUICE_CLUSTER_SECRET=a secret of the lab, long enough")
	c, err := child.Start(cmd, "serve")
	at := new(serveAddresses)
	s, err := relayStarted{form: form}.listening(c, err, func(s *relayStarted) error {
		line, err := lineOf(s.Process)
		if err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(line), at); err != nil || at.RTMP == "" || at.HTTP == "" {
			return fmt.Errorf("scenarios: the server said %.120q: %v", line, err)
		}
		s.publish, s.view = at.RTMP, at.RTMP
		if form == relay.FLV {
			s.view = at.HTTP
		}
		return nil
	})
	return s, at, err
}

// floorServer is the least that a relay can do, with sealed of one whose viewers come over
// TLS; a window of 0: nothing is merged.
func floorServer(window time.Duration, sealed bool) relayServer {
	return func(env lab.Env, form string) (relayStarted, error) {
		c, err := startChild(env.Self, "relay-floor", form, window.String(), strconv.FormatBool(sealed))
		return relayStarted{form: form}.listening(c, err, func(s *relayStarted) (err error) {
			s.publish, err = lineOf(s.Process)
			s.view = s.publish
			return err
		})
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
		return relayStarted{form: relay.RTMP, publish: addr, view: addr, lax: true}.listening(c, err, func(s *relayStarted) error {
			return relay.Accepts(addr, child.Within, s.Gone())
		})
	}
}

var _ = registerChild("relay-floor", "FORM WINDOW SEALED", func(args []string) error {
	window, err := time.ParseDuration(args[1])
	sealed, err2 := strconv.ParseBool(args[2])
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("scenarios: %w", err)
	}
	runtime.GOMAXPROCS(1)
	return relay.Floor{Form: args[0], Window: window, Sealed: sealed}.Serve(os.Stdin, os.Stdout)
})
