package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/archive"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/command"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/handover"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hls"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hooks"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/memory"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/pull"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/push"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/recordings"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtmpserver"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpfeed"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtspserver"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/srtserver"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/web"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/webrtc"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// A Server is a live relay. New makes it; then come Listen and Serve.
type Server struct {
	settings  atomic.Pointer[config.Config]
	reloading sync.Mutex     // one Reload at a time
	level     *slog.LevelVar // nil: it cannot be changed
	log       *slog.Logger
	version   string
	again     func() (config.Config, error) // nil: the configuration cannot be read again
	given     func(setting, address string) net.Listener

	proxies   listen.Proxies
	host      *session.Host
	listeners []*listener
	at        atomic.Pointer[map[string]string] // nil before Listen
	certs     *listen.Certificate               // nil: no TLS
	rtmp      *rtmpserver.Server
	feeds     *rtpfeed.Feeds // packets that RTSP and WebRTC send
	rtsp      *rtspserver.Server
	webrtc    *webrtc.Server // nil: none
	srt       *srtserver.Server
	memory    *memory.Keeper // nil: no limit is known
	hls       *hls.Server
	web       *web.Server
	hookTimes *prometheus.HistogramVec
	rules     *ruleSet       // reloading locks it
	events    *hooks.Events  // nil: no other server gets events
	report    hooks.Reporter // what happens, for it and for the API
	outbound  outbound
	cluster   *clustered // nil: this server is alone
	upgrades  upgrades
	successor bool // it takes over from another process, and its ports when that has let go

	stop   context.CancelFunc
	ending sync.Once
	ended  chan struct{} // closed when Shutdown has finished
	endErr error
}

// Options are what a server takes in addition to its configuration.
type Options struct {
	Logger  *slog.Logger   // nil is slog.Default
	Level   *slog.LevelVar // of the logger, which Reload sets; nil when that cannot be
	Version string         // of the program, for the API
	// Again reads the configuration again, for ReloadAgain; nil when that cannot be.
	Again func() (config.Config, error)
	// Given returns a listener for a setting with this address, transferred, or nil when
	// the server has to open it. Given itself may be nil.
	Given func(setting, address string) net.Listener
	// Successor says that TakeOver will be called after Listen.
	Successor bool
	times     session.Times // zero for the defaults
}

// New makes a server from a configuration, which it checks.
func New(c config.Config, o Options) (*Server, error) {
	if err := errors.Join(c.Check(), Check(&c)); err != nil {
		return nil, err
	}
	log := o.Logger
	if log == nil {
		log = slog.Default()
	}
	s := &Server{level: o.Level, log: log, version: o.Version, again: o.Again, given: o.Given, successor: o.Successor, hookTimes: hookTimes(), ended: make(chan struct{})}
	s.upgrades.done, s.upgrades.start = make(chan struct{}), handover.StartTime
	s.settings.Store(&c)
	proxies, err := trusted(&c)
	if err != nil {
		return nil, err
	}
	if err := s.proxies.Update(proxies); err != nil {
		return nil, err
	}
	rules, allow, err := newRules(&c, hooks.AdmissionOptions{Timeout: o.times.Hook, Done: s.observeHook}, log)
	if err != nil {
		return nil, err
	}
	s.rules = rules
	gate, err := access.New(allow)
	if err != nil {
		return nil, err
	}
	if c.BansFile != "" {
		if err := gate.KeepBans(c.BansFile); err != nil {
			return nil, err
		}
	}
	if secure(&c) {
		if s.certs, err = listen.LoadCertificate(c.Cert, c.Key, log); err != nil {
			return nil, err
		}
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	alloc := mem.Default()
	most := int64(c.MaxMemory)
	if most == 0 {
		most = memory.Machine() / 2
	}
	rings := live.HubOptions{Memory: memory.RingShare(most), Stream: live.StreamOptions{MaxFrame: c.MaxFrame, Allocator: alloc, Marks: c.Cluster, Backlog: o.times.Lag}}
	adjust := func(name string, o *live.StreamOptions) {
		c := s.host.For(name)
		o.GOPBytes, o.GOPFrames, o.GOPTime, o.NoGOP = c.GOPBytes, c.GOPFrames, c.GOPTime, !c.GOP
	}
	rings.Adjust = func(name string, o *live.StreamOptions) {
		adjust(name, o)
		o.Grace = s.host.For(name).Grace
		if c := s.host.For(name); c.Takeover == config.TakeoverStandby {
			o.Silence = c.TakeoverAfter
		}
	}
	s.host = &session.Host{
		Config:   s.settings.Load,
		Times:    o.times.WithDefaults(),
		Log:      log,
		Alloc:    alloc,
		Gate:     gate,
		Hub:      live.NewHub(rings),
		Writer:   live.NewWriter(live.WriterOptions{Merge: c.Merge, Lag: o.times.Lag, Stall: o.times.Stall}),
		Register: session.NewRegister(log),
		Ctx:      ctx,
	}
	if c.EventHook != "" {
		s.events, err = hooks.NewEvents(hooks.EventOptions{
			URL: c.EventHook, Secret: []byte(c.EventSecret), Dir: c.EventSpool, Most: int64(c.EventSpoolSize), Logger: log,
		})
		if err != nil {
			return nil, err
		}
	}
	packets := rings
	packets.Stream.Marks = false
	packets.Adjust = adjust // they end with their streams: no grace
	packets.Memory = memory.PacketShare(most)
	s.feeds = rtpfeed.New(packets, alloc, log)
	s.rtsp = rtspserver.New(s.host, s.feeds)
	s.srt = srtserver.New(s.host, packets)
	s.host.Unfinished.Bound(memory.UnfinishedShare(most, c.MaxFrame))
	s.host.Room = func() error { return nil }
	if most > 0 {
		s.memory = memory.New(memory.Options{Most: most, Alloc: alloc, Hubs: []*live.Hub{s.host.Hub, s.feeds.Hub(), s.srt.Hub()}, Writer: s.host.Writer, Unread: s.host.Group.Unread, Logger: log})
		s.host.Room = s.memory.Admit
	}
	s.rtmp = &rtmpserver.Server{Host: s.host}
	s.hls = hls.New(s.host, memory.SegmentShare(most))
	s.web = web.New(s.host, s.hls, &s.proxies, o.Version, s.Addresses)
	if o.Again != nil {
		s.web.Reload = s.ReloadAgain
	}
	for _, a := range s.handshakes() {
		a.Limit(c.MaxHandshakes, c.MaxHandshakesPerAddress)
		a.SetQuiet(s.host.Times.Quiet)
	}
	s.report = hooks.Reporter{&s.web.Recent}
	if s.events != nil {
		s.report = append(s.report, s.events)
	}
	s.host.Register.Observe(s.report)
	s.host.TookOver = s.report.TookOver
	s.host.OnRefusal = hooks.NewRefusals(s.report).Add
	if err := s.attach(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// handshakes are the places for connections without a request, by protocol.
func (s *Server) handshakes() []*listen.Arrivals {
	return []*listen.Arrivals{&s.rtmp.Arrivals, &s.web.Arrivals, &s.rtsp.Arrivals, &s.srt.Arrivals}
}

// attach creates the optional parts that the configuration asks for, and adds the
// metrics of all parts to those of the web server.
func (s *Server) attach() error {
	c, metrics := s.host.Config(), s.web.Metrics
	metrics.MustRegister(buildInfo(s.version), s.hookTimes)
	metrics.MustRegister(arrivals("RTMP", s.rtmp.Arrivals.Stats)...)
	metrics.MustRegister(arrivals("HTTP", s.web.Arrivals.Stats)...)
	metrics.MustRegister(arrivals("RTSP", s.rtsp.Arrivals.Stats)...)
	metrics.MustRegister(arrivals("SRT", s.srt.Arrivals.Stats)...)
	o := record.Options{Index: true, Format: record.Format(c.RecordFormat), Segment: c.RecordSegment, Logger: s.log, Began: s.report.RecordBegan, Ended: s.report.RecordEnded}
	s.outbound.recorders = &recorders{options: o, of: s.host.For}
	s.host.Recorder = s.outbound.recorders
	metrics.MustRegister(recordings.Metrics(s.outbound.recorders.list)...)
	if err := s.outbound.recorders.prepare(c); err != nil {
		return err
	}
	s.web.Recorded = web.NewRecorded(archive.Union(s.outbound.recorders.all), func(stream string, on bool) error {
		return s.outbound.recorders.control(stream, on, s.host.Hub)
	})
	s.web.HLS.Tapes = s.web.Recorded.Files
	targets, err := pushTargets(nil).next(c)
	if err != nil {
		return err
	}
	s.outbound.targets.Store(&targets)
	s.outbound.pusher = push.New(push.Options{
		Targets: func(stream string) []*push.Target { return s.outbound.targets.Load().of(s.host.For(stream).Push) },
		Streams: s.host.Hub.Streams,
		Logger:  s.log,
	})
	s.host.Pusher, s.web.Pushes = s.outbound.pusher, s.outbound.pusher
	metrics.MustRegister(s.outbound.pusher.Metrics())
	s.outbound.commands = command.New(command.Options{
		Of:     func(stream string) command.Command { return commandFor(stream, s.host.For(stream), s.Addresses()) },
		Most:   func() int { return s.host.Config().MaxCommands },
		Hide:   append(config.SecretVariables(), "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET"),
		Logger: s.log,
	})
	s.host.Commands = s.outbound.commands
	metrics.MustRegister(s.outbound.commands.Metrics()...)
	if s.events != nil {
		metrics.MustRegister(s.events.Metrics()...)
	}
	if len(c.Origin) > 0 {
		o, err := pull.New(s.host, c.Origin, nil)
		if err != nil {
			return err
		}
		s.host.Puller = o
		metrics.MustRegister(o.Metrics()...)
	}
	if c.Cluster {
		s.cluster = newClustered(s.host, s.web, s.report, s.version)
		s.host.Puller, s.host.Cluster, s.web.Cluster, s.web.Nodes = s.cluster.pulls, s.cluster, s.cluster.status, s.cluster
		metrics.MustRegister(s.cluster.pulls.Metrics()...)
		metrics.MustRegister(clusterMetrics(func() *cluster.Node { return s.cluster.node })...)
	}
	if len(c.Source) > 0 {
		p, err := pull.NewSources(s.host, c.Source, s.host.Puller, nil)
		if err != nil {
			return err
		}
		s.host.Puller = p
	}
	return nil
}

// observeHook records the duration of a call of the admission hook.
func (s *Server) observeHook(took time.Duration, result string) {
	s.hookTimes.WithLabelValues(result).Observe(took.Seconds())
}

// Serve runs the server, which must listen, until ctx is done or a listener
// fails. Then it shuts down, for at most DrainTime, and returns the listener's
// error. It is not an error if sessions had to be cut off. After a call of
// Shutdown or Close it returns http.ErrServerClosed. Call it once.
func (s *Server) Serve(ctx context.Context) error {
	failed := make(chan error, len(s.listeners)+1)
	var running sync.WaitGroup
	for _, l := range s.listeners {
		running.Go(func() {
			if err := l.serve(l); err != nil && !s.host.Closing() {
				failed <- fmt.Errorf("%s: %w", l.setting, err)
			}
		})
	}
	running.Go(s.serveUpgrades)
	running.Go(func() { s.web.Sample(s.host.Ctx) })
	running.Go(func() { archive.Union(s.outbound.recorders.all).Keep(s.host.Ctx, sweepEvery, s.kept, s.log) })
	if s.memory != nil {
		running.Go(func() { s.memory.Run(s.host.Ctx) })
	}
	running.Go(func() { s.report.WatchStalls(s.host.Ctx, s.host.Register) })
	pushes := pushWatch{report: s.report, list: s.outbound.pusher.List}
	running.Go(func() { pushes.run(s.host.Ctx) })
	var err error
	select {
	case <-ctx.Done():
		s.log.Info("shutting down", "publishers", s.host.Register.Number(session.RolePublisher), "viewers", s.host.Register.Number(session.RoleViewer))
	case err = <-failed:
		s.log.Error("a listener failed", "error", err)
	case <-s.upgrades.done:
		s.letGo()
	case <-s.host.Ctx.Done():
		err = http.ErrServerClosed
	}
	if err != http.ErrServerClosed {
		if s.cluster != nil && ctx.Err() != nil {
			s.cluster.leave()
		}
		drain, cancel := context.WithTimeout(context.Background(), DrainTime)
		defer cancel()
		first, ending := s.end(drain)
		switch {
		case !first: // Shutdown or Close was called as well, and has said how that went
			err = cmp.Or(err, http.ErrServerClosed)
		case errors.Is(ending, context.DeadlineExceeded):
			s.log.Warn("sessions were cut off", "after", DrainTime, "error", ending)
		case ending != nil:
			err = errors.Join(err, ending)
		}
	}
	running.Wait()
	<-s.ended
	return err
}

// sweepEvery is how often recordings are deleted that are no longer kept.
const sweepEvery = 30 * time.Second

// kept is what is kept of recordings.
func (s *Server) kept() archive.Limits {
	c := s.host.Config()
	return archive.Limits{Age: c.RecordKeep, Size: int64(c.RecordSize)}
}

// DrainTime is how long Serve lets sessions end by themselves.
const DrainTime = 5 * time.Second

// Shutdown ends the server: it accepts no more connections, ends publishers and
// viewers, and finishes recordings. Pending data is still sent until ctx is done.
// If that time is too short, Shutdown returns the context's error, and closes
// everything anyway. Later calls wait for the first.
func (s *Server) Shutdown(ctx context.Context) error {
	_, err := s.end(ctx)
	return err
}

// end is Shutdown, and reports whether this call was the first.
func (s *Server) end(ctx context.Context) (first bool, err error) {
	s.ending.Do(func() {
		first = true
		s.endErr = s.shutdown(ctx)
		close(s.ended)
	})
	<-s.ended
	return first, s.endErr
}

// Close is Shutdown without waiting for pending data.
func (s *Server) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := s.Shutdown(ctx)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (s *Server) shutdown(ctx context.Context) error {
	if s.cluster != nil {
		s.cluster.drain() // before streams end, so that others look elsewhere
		defer s.cluster.close()
	}
	s.stop()
	s.upgrades.close()
	var errs []error
	for _, l := range s.listeners {
		l.Close()
	}
	if s.webrtc != nil {
		s.webrtc.Drain()
	}
	for _, c := range s.host.Register.List() {
		if c.Role == session.RolePublisher {
			c.Stop(session.ErrClosing)
		}
	}
	if s.host.Puller != nil {
		errs = append(errs, s.host.Puller.Close(ctx))
	}
	// Viewers and recordings get the rest of their streams.
	s.host.Hub.Close()
	if s.host.Recorder != nil {
		errs = append(errs, s.host.Recorder.Close(ctx))
	}
	if s.host.Commands != nil {
		errs = append(errs, s.host.Commands.Close(ctx))
	}
	if s.host.Pusher != nil {
		errs = append(errs, s.host.Pusher.Close(ctx))
	}
	s.hls.Close()
	errs = append(errs, s.host.Writer.Shutdown(ctx), s.web.Shutdown(ctx), s.host.Group.Wait(ctx))
	s.host.Writer.Close()
	s.feeds.Close()
	s.rtsp.Close()
	s.srt.Close()
	s.web.Close()
	s.host.Group.CloseAll()
	s.host.Group.Wait(context.Background())
	s.rtmp.Loops.Close()
	if s.webrtc != nil {
		s.webrtc.Close()
	}
	if s.events != nil { // all sessions have ended
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			// The events of those that were cut off have not been delivered.
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(context.Background(), s.host.Times.Events)
			defer cancel()
		}
		errs = append(errs, s.events.Close(ctx))
	}
	s.reloading.Lock()
	defer s.reloading.Unlock()
	s.rules.close()
	return errors.Join(errs...)
}
