package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/systemd"
)

const serveText = `serve is a live relay: encoders publish streams to it over RTMP, RTSP, WHIP, SRT
or HTTP, and players watch them over the same, HLS, WHEP or WebSocket, or on the
page at /. It needs no configuration, and prints first how to publish and to watch.

A stream is called APP/NAME and stands at

    rtmp://HOST/APP/NAME              to publish and to play
    rtsp://HOST:8554/APP/NAME         to publish and to play
    http://HOST:8080/APP/NAME.flv     GET plays, also over WebSocket; POST and PUT publish
    http://HOST:8080/APP/NAME.m3u8    HLS
    http://HOST:8080/APP/NAME/whip    WHIP publishes; APP/NAME/whep plays
    srt://HOST:8890                   streamid=publish:APP/NAME, or read:APP/NAME

A player may add to the address: ?wait=SECONDS, up to 60, to wait for a stream
that is not there yet; ?merge=MS, 0 to 350, for how long frames are collected
for it; ?gop=0 to begin with the next key frame; ?from=-2h for what was recorded
(not in RTMP); ?token=TOKEN.

Also over HTTP: /operate for operators, /api/streams, /api/clients, /api/bans,
/api/pushes, /metrics for Prometheus, /healthz.

A file that --config names has the same settings, as YAML: "merge: 100ms". So
has the environment, which goes before the file: SLUICE_GOP_TIME for --gop-time,
SLUICE_CONFIG for --config. Flags go before both. Secrets come from the
environment only: SLUICE_TOKEN_SECRET signs the tokens of --protect, those of
SLUICE_TOKEN_SECRET_ACCEPT hold too while it is changed,
SLUICE_API_TOKEN is what the API asks for, SLUICE_EVENT_SECRET signs events,
SLUICE_CLUSTER_SECRET is that of the nodes of a cluster, which with
SLUICE_CLUSTER_SECRET_ACCEPT may have that one too while it is changed,
SLUICE_TURN_SECRET that of TURN servers, SLUICE_SRT_PASSPHRASE encrypts SRT.

An interrupt or SIGTERM ends it: sessions have 5 seconds for what is on its way,
and what hangs, such as a disk, has 12; a second one ends it at once. SIGHUP reads
the configuration and the certificate again and applies what it can without ending
a session; the log says what has changed and what waits for a restart.

SIGUSR2 starts the program again, as it is on disk by then, and hands over to it;
serve --upgrade takes over from the server at --upgrade-socket. When that fails,
the running server goes on.

Exit codes: 0 ended by a signal; 1 it cannot listen, a listener failed, or
something hangs at the end, which the last line names; 2 wrong command line or
configuration, or files and directories that these name cannot be used; 3 ended
by a second signal.`

func (a App) serve() *cobra.Command {
	f := newSettingFlags()
	upgrade := false
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Run the live relay",
		Long:    serveText,
		Example: "  sluice serve --http :80 --merge 40ms --record recordings",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			resolve := func() (config.Config, error) { return f.resolve(cmd.Flags(), os.Getenv) }
			c, err := resolve()
			if err != nil {
				return fmt.Errorf("serve: %w", err)
			}
			return a.runServe(c, f.json, upgrade, resolve)
		},
	}
	groups := f.addTo(cmd)
	program := pflag.NewFlagSet("Program", pflag.ContinueOnError)
	program.SortFlags = false
	program.AddFlag(cmd.Flags().Lookup("config"))
	program.BoolVar(&f.json, "json", false, "print one line of JSON with the addresses instead of the lines for people")
	program.BoolVar(&upgrade, "upgrade", false, "take over from the running server at --upgrade-socket")
	cmd.Flags().AddFlagSet(program)
	groups["Program"] = program

	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		w := cmd.OutOrStderr()
		fmt.Fprintf(w, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
		for _, name := range append(config.Groups(), "Program") {
			fmt.Fprintf(w, "\n%s:\n%s", name, groups[name].FlagUsagesWrapped(100))
		}
		return nil
	})
	return cmd
}

// lean lowers the garbage collector's target. Sessions allocate when they begin
// and hardly ever after that, so earlier collections cost nothing; without them
// the garbage of many sessions would stay for minutes. GOGC in the environment
// overrides it.
func lean() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// runServe runs a server with these settings. With upgrade it takes over from the one
// that runs. again reads the configuration again.
func (a App) runServe(c config.Config, asJSON, upgrade bool, again func() (config.Config, error)) error {
	lean()
	program, _ := os.Executable() // by now: later its file may have another name
	level := new(slog.LevelVar)
	level.Set(relay.Level(c.LogLevel))
	defer keepBrokenPipes()()
	queue := newLogQueue(a.Stderr, func(lines int) {
		newLogger(a.Stderr, level, c.LogFormat).Warn("lines of the log are lost: nothing has read it for a while", "lines", lines)
	})
	defer queue.close()
	log := newLogger(queue, level, c.LogFormat)
	for _, v := range strayVariables(&c, os.Environ()) {
		log.Warn("no setting has this environment variable: it is ignored", v.attributes()...)
	}
	// Register for signals before printing anything that suggests that the server
	// runs.
	signals, stop := receiveSignals()
	defer stop()
	sockets, err := systemd.Inherited(os.Getenv, os.Getpid())
	if err != nil {
		return fail(fmt.Errorf("serve: %w", err))
	}
	defer sockets.Close()
	from, err := inheritance(&c, upgrade)
	if errors.Is(err, errNoSocket) {
		return fmt.Errorf("serve: %w", err)
	}
	if err != nil {
		return fail(fmt.Errorf("serve: %w", err))
	}
	options := relay.Options{Logger: log, Level: level, Version: buildVersion(), Again: again, Given: sockets.Take}
	ready := systemd.Ready
	if from != nil {
		defer from.Close()
		options.Given, options.Successor = from.Take, true
		ready = systemd.Main(os.Getpid())
	}
	server, err := begun(signals, func() (*relay.Server, error) { return openServer(c, options, from) })
	if err != nil {
		return lastLine(queue, err)
	}
	if err := a.announce(c, asJSON, server, log); err != nil {
		server.Close()
		return fail(fmt.Errorf("serve: %w", err))
	}
	if left := sockets.Left(); len(left) > 0 {
		log.Warn("sockets were given that no setting is for", "addresses", left)
	}
	if err := systemd.Notify(os.Getenv, ready); err != nil {
		log.Warn("the service manager does not hear that the server is ready", "error", err)
	}
	return lastLine(queue, serveUntilEnd(server, signals, func() { replace(program, server, log) }))
}

// lastLine writes an error that has ended a server into the queue of its log: Main would wait for what reads that, which may
// read nothing any more.
func lastLine(q io.Writer, err error) error {
	var exit *exitError
	if !errors.As(err, &exit) {
		return err
	}
	fmt.Fprintf(q, "sluice: %s\n", inOneLine(err.Error()))
	return &exitError{code: exit.code}
}

// openServer returns a server that listens and, with from, has taken over from the one that runs.
// After an error nothing is open.
func openServer(c config.Config, options relay.Options, from *relay.Inheritance) (*relay.Server, error) {
	server, err := relay.New(c, options)
	if err != nil { // what the settings say
		refuse(from, err)
		return nil, fmt.Errorf("serve: %w", err)
	}
	if err := server.Listen(); err != nil {
		refuse(from, err)
		server.Close()
		return nil, fail(fmt.Errorf("serve: %w", listenHint(err)))
	}
	if from != nil {
		if err := server.TakeOver(from); err != nil {
			server.Close()
			return nil, fail(fmt.Errorf("serve: upgrade: %w", err))
		}
	}
	return server, nil
}

// announce prints and logs the addresses of the server, and logs its limit on memory.
func (a App) announce(c config.Config, asJSON bool, server *relay.Server, log *slog.Logger) error {
	var err error
	at := server.Addresses()
	if asJSON {
		err = printReady(a.Stdout, at)
	} else {
		err = printLines(a.Stdout, c, at)
	}
	if err != nil {
		return err
	}
	listening := []any{"version", buildVersion()}
	for _, name := range slices.Sorted(maps.Keys(at)) {
		listening = append(listening, name, at[name])
	}
	log.Info("listening", append(listening, "max-memory", server.MaxMemory())...)
	return nil
}

// reloadEnd is how long the end waits for a reload, which takes milliseconds.
const reloadEnd = time.Second / 2

// serveUntilEnd runs the server until a signal or a failure ends it. upgrade is called when that is
// asked for.
func serveUntilEnd(server *relay.Server, s signals, upgrade func()) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	// A reload runs beside this loop: a file that cannot be read to its end must not keep the server.
	mayReload := make(chan struct{}, 1)
	mayReload <- struct{}{}
	go func() {
		for range s.reload {
			<-mayReload
			_, _, _ = server.ReloadAgain() // it logs what has come of it
			mayReload <- struct{}{}
		}
	}()
	for ending := false; ; {
		select {
		case err := <-served:
			if err != nil {
				return fail(fmt.Errorf("serve: %w", err))
			}
			return nil
		case <-s.upgrade:
			upgrade()
		case <-s.end:
			if ending {
				// Whatever is still going on ends with the process.
				return &exitError{ExitUnusable, errors.New("serve: ended by a second signal; not everything was sent")}
			}
			ending = true
			select {
			case <-mayReload: // and none begins
			case <-time.After(reloadEnd):
			}
			_ = systemd.Notify(os.Getenv, systemd.Stopping) // only for its own display
			stop()
		}
	}
}

// listenHint says what to do when an address cannot be listened on.
func listenHint(err error) error {
	var l *relay.ListenError
	if !errors.As(err, &l) {
		return err
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w: choose another with --%s", err, l.Setting)
	case errors.Is(err, syscall.EACCES) && privileged(l.Address):
		return fmt.Errorf("%w: choose a port above 1023 with --%s", err, l.Setting)
	}
	return fmt.Errorf("%w: see --%s", err, l.Setting)
}

// privileged reports whether an address has a port that not every user may have.
func privileged(address string) bool {
	_, port, err := net.SplitHostPort(address)
	n, wrong := strconv.Atoi(port)
	return err == nil && wrong == nil && n < 1024
}

// serveReady is the JSON line that tells programs the addresses.
type serveReady struct {
	RTMP    string `json:"rtmp,omitempty"`
	RTMPS   string `json:"rtmps,omitempty"`
	HTTP    string `json:"http,omitempty"`
	HTTPS   string `json:"https,omitempty"`
	RTSP    string `json:"rtsp,omitempty"`
	RTSPS   string `json:"rtsps,omitempty"`
	SRT     string `json:"srt,omitempty"`
	WebRTC  string `json:"webrtc,omitempty"`
	PProf   string `json:"pprof,omitempty"`
	Cluster string `json:"cluster,omitempty"` // where other nodes join
	PID     int    `json:"pid"`
}

func printReady(w io.Writer, at map[string]string) error {
	return json.NewEncoder(w).Encode(serveReady{at["rtmp"], at["rtmps"], at["http"], at["https"], at["rtsp"], at["rtsps"], at["srt"], at["webrtc"], at["pprof"], at["cluster-address"], os.Getpid()})
}

// newLogger logs to w. format is one that Config.Check accepts.
func newLogger(w io.Writer, level slog.Leveler, format string) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(shownJSON{w}, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
