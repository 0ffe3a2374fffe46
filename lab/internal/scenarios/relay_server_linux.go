package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/echobench"
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
	waits         bool             // viewers ask it to wait for their stream, of which it hears from another
	cluster       string           // where other nodes join
	before        []*child.Process // servers that belong to it
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

// mergeAlways has sluice serve collect what it sends for relayMerge, also when there is little.
const mergeAlways = "--merge-adapt=false"

// sluiceServer is sluice serve with these flags.
func sluiceServer(flags ...string) relayServer {
	return func(env lab.Env, form string) (relayStarted, error) { return startSluice(env, form, flags...) }
}

// tlsServer is sluice serve whose viewers come by RTMPS.
func tlsServer(env lab.Env, form string) (relayStarted, error) {
	cert, key, err := echobench.CertificateFiles(env.Dir)
	if err != nil {
		return relayStarted{}, err
	}
	s, err := startSluice(env, form, mergeAlways, "--rtmps", "127.0.0.1:0", "--cert", cert, "--key", key)
	s.secure = true
	return s, err
}

// cascadeServer is n servers, published to at the first and watched at the last.
func cascadeServer(n int, flags ...string) relayServer {
	return func(env lab.Env, form string) (relayStarted, error) {
		all, err := startServers(env, form, n, func(before []relayStarted) []string {
			if len(before) == 0 {
				return flags
			}
			return append([]string{"--origin", "rtmp://" + before[len(before)-1].publish}, flags...)
		}, nil)
		if err != nil {
			return relayStarted{}, err
		}
		return asOne(all, n-1, all[n-1].view), nil
	}
}

// startServers starts n servers, one after the other, with flags that may depend on those
// before. elsewhere, which may be nil, says which are on another processor than the caller.
func startServers(env lab.Env, form string, n int, flags func(before []relayStarted) []string, elsewhere func(before []relayStarted) (processor int, elsewhere bool)) (all []relayStarted, err error) {
	start := func() (s relayStarted, err error) {
		begin := func() (err error) {
			s, err = startSluice(env, form, flags(all)...)
			return err
		}
		if elsewhere != nil {
			if cpu, ok := elsewhere(all); ok {
				err = echobench.OnProcessor(cpu, begin)
				return s, err
			}
		}
		err = begin()
		return s, err
	}
	for i := range n {
		s, err := start()
		if err == nil {
			all = append(all, s)
			err = s.listening(&all[i])
		}
		if err != nil {
			for _, s := range all {
				s.Stop()
			}
			return nil, fmt.Errorf("scenarios: server %d of %d: %w", i+1, n, err)
		}
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
	s.listening = func(*relayStarted) error { return nil }
	return s
}

// startSluice starts sluice serve with further flags.
func startSluice(env lab.Env, form string, flags ...string) (relayStarted, error) {
	program, err := relayProgram(env.Dir)
	if err != nil {
		return relayStarted{}, err
	}
	args := []string{"serve", "--json", "--rtmp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--rtsp", "127.0.0.1:0", "--webrtc", "127.0.0.1:0", "--srt", "127.0.0.1:0", "--max-viewers", "0", "--max-viewers-per-address", "0"}
	cmd := exec.Command(program, append(args, flags...)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "SLUICE_CLUSTER_SECRET=a secret of the lab, long enough")
	c, err := child.Start(cmd, "serve")
	if err != nil {
		return relayStarted{}, err
	}
	return relayStarted{Process: c, form: form, listening: func(s *relayStarted) error {
		line, err := lineOf(s.Process)
		if err != nil {
			return err
		}
		var at struct{ RTMP, RTMPS, HTTP, Cluster string }
		if err := json.Unmarshal([]byte(line), &at); err != nil || at.RTMP == "" || at.HTTP == "" {
			return fmt.Errorf("scenarios: the server said %.120q: %v", line, err)
		}
		s.publish, s.view, s.cluster = at.RTMP, at.RTMP, at.Cluster
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
func floorServer(window time.Duration) relayServer { return startFloor(window, false) }

// sealedFloor is the least that a relay can do whose viewers come over TLS.
func sealedFloor(window time.Duration) relayServer { return startFloor(window, true) }

func startFloor(window time.Duration, sealed bool) relayServer {
	return func(env lab.Env, form string) (relayStarted, error) {
		c, err := startChild(env.Self, "relay-floor", form, window.String(), strconv.FormatBool(sealed))
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
			return relay.Accepts(addr, child.Within, s.Gone())
		}}, err
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
