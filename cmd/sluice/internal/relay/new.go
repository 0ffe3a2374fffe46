package relay

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/archive"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/command"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
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
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

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

// New makes a server from a configuration, which it checks. An error names the setting that
// cannot be used.
func New(c config.Config, o Options) (*Server, error) {
	if err := errors.Join(c.Check(), Check(&c)); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &Server{successor: o.Successor, ended: make(chan struct{})}
	times := hookTimes()
	gate, err := s.begin(&c, &o, times)
	if err != nil {
		return nil, err
	}
	machine := memory.Machine()
	most := memory.Limit(c.MaxMemory, machine)
	s.most = most
	rings, packets := ringOptions(&c, most, o.times.Lag, func(stream string) *config.Config { return s.host.For(stream) })
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	s.host = &session.Host{
		Config:   s.settings.current.Load,
		Times:    o.times.WithDefaults(),
		Log:      o.Logger,
		Alloc:    rings.Stream.Allocator,
		Gate:     gate,
		Hub:      live.NewHub(rings),
		Writer:   live.NewWriter(live.WriterOptions{Merge: c.Merge, Lag: o.times.Lag, Stall: o.times.Stall}),
		Register: session.NewRegister(o.Logger),
		Ctx:      ctx,
		ID:       edge.NewID(),
	}
	if c.EventHook != "" {
		s.events, err = hooks.NewEvents(hooks.EventOptions{
			URL: c.EventHook, Secret: []byte(c.EventSecret), Dir: c.EventSpool, Most: c.EventSpoolSize, Logger: o.Logger,
		})
		if err != nil {
			return nil, config.Fault(c.Place("event-spool"), "event-spool", err)
		}
	}
	s.serveWith(packets, most, machine, &o)
	s.observe()
	if err := s.attach(o.Version, times); err != nil {
		s.Close()
		return nil, err
	}
	if most < c.MaxMemory {
		o.Logger.Warn("max-memory is more than three quarters of the memory that this process can have: those are the limit", "max-memory", c.MaxMemory, "memory", machine, "limit", most)
	}
	warnOfDescriptors(&c, access.Descriptors(), o.Logger)
	return s, nil
}

// warnOfDescriptors warns when most of the connections that the limits allow cannot be had: the process may have
// so many descriptors, 0 for no known limit.
func warnOfDescriptors(c *config.Config, descriptors int, log *slog.Logger) {
	if need := c.Connections(); descriptors > 0 && int64(descriptors) < need/2 {
		log.Warn("most connections that max-viewers, max-streams and max-handshakes allow are refused: raise LimitNOFILE or ulimit -n", "descriptors", descriptors, "connections", need)
	}
}

// begin applies the settings to the listeners, and makes the gate. times gets the durations of
// the admission hook's calls.
func (s *Server) begin(c *config.Config, o *Options, times *prometheus.HistogramVec) (*access.Gate, error) {
	s.settings.again, s.settings.level, s.settings.to = o.Again, o.Level, &s.outbound
	s.settings.ask = hooks.AdmissionOptions{Timeout: o.times.Hook, Done: func(took time.Duration, result string) {
		times.WithLabelValues(result).Observe(took.Seconds())
	}}
	allow, err := s.settings.begin(c, o.Logger)
	if err != nil {
		return nil, err
	}
	gate, err := access.New(allow)
	if err != nil {
		return nil, err
	}
	if c.BansFile != "" {
		err := gate.KeepBans(c.BansFile)
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			o.Logger.Error(bansNotSaved, "error", err) // they hold, and a full disk must not keep the server away
		} else if err != nil {
			return nil, config.Fault(c.Place("bans-file"), "bans-file", err)
		}
	}
	if secure(c) {
		if s.settings.certs, err = listen.LoadCertificate(c.Cert, c.Key, o.Logger); err != nil {
			return nil, err
		}
	}
	return gate, nil
}

// ringOptions are those of the rings of streams, and of packets that are made from these. most
// is what the server may take of memory, and of returns the settings of a stream.
func ringOptions(c *config.Config, most int64, lag time.Duration, of func(stream string) *config.Config) (rings, packets live.HubOptions) {
	rings = live.HubOptions{Memory: memory.RingShare(most), Stream: live.StreamOptions{MaxFrame: c.MaxFrame, Allocator: mem.Default(), Marks: c.Cluster, Backlog: lag}}
	adjust := func(name string, o *live.StreamOptions) {
		c := of(name)
		o.GOPBytes, o.GOPFrames, o.GOPTime, o.NoGOP = c.GOPBytes, c.GOPFrames, c.GOPTime, !c.GOP
	}
	rings.Adjust = func(name string, o *live.StreamOptions) {
		adjust(name, o)
		c := of(name)
		o.Grace = c.Grace
		if c.Takeover == config.TakeoverStandby {
			o.Silence = c.TakeoverAfter
		}
	}
	packets = rings
	packets.Stream.Marks = false
	packets.Adjust = adjust // they end with their streams: no grace
	packets.Memory = memory.PacketShare(most)
	return rings, packets
}

// serveWith makes what serves sessions, whose packets are kept with these options, and what
// listens for it and can be handed over. most is what the server may take of memory, machine
// what the process can have.
func (s *Server) serveWith(packets live.HubOptions, most, machine int64, o *Options) {
	c, h := s.host.Config(), s.host
	s.feeds = rtpfeed.New(packets, func() error { return h.Room() }, h.Alloc, h.Log)
	s.rtsp = rtspserver.New(h, s.feeds)
	s.srt = srtserver.New(h, packets)
	h.Unfinished.Bound(memory.UnfinishedShare(most, c.MaxFrame))
	always := func() error { return nil }
	h.Room, h.RoomToWatch, s.upgrades.room = always, always, always
	if most > 0 {
		s.memory = memory.New(memory.Options{Most: most, Machine: machine, Group: memory.FindGroup(), Alloc: h.Alloc, Hubs: []*live.Hub{h.Hub, s.feeds.Hub(), s.srt.Hub()}, Writer: h.Writer, Unread: h.Group.Unread, Relieve: func(now time.Time) { s.web.Relieve(now) }, Shed: h.Shed, Logger: h.Log})
		h.Room, h.RoomToWatch, s.upgrades.room = s.memory.Admit, s.memory.RoomToWatch, s.memory.RoomForSuccessor
	}
	s.rtmp = &rtmpserver.Server{Host: h}
	s.hls = hls.New(h, memory.SegmentShare(most), most)
	h.Gate.Yields(s.hls.Yield)
	s.web = web.New(h, s.hls, &s.settings.proxies, o.Version, s.Addresses, most)
	if o.Again != nil {
		s.web.Reload = s.ReloadAgain
	}
	for _, a := range s.handshakes() {
		a.Report(a.crowded(h.Log))
		a.Limit(c.MaxHandshakes, c.MaxHandshakesPerAddress)
		a.SetQuiet(h.Times.Quiet)
		a.SetTight(func() bool { return access.Scarce() || s.memory != nil && s.memory.Tight() })
	}
	s.settings.host, s.settings.handshakes = h, s.handshakes()
	s.listeners.given, s.listeners.proxies, s.listeners.header = o.Given, &s.settings.proxies, h.Times.Header
	s.listeners.lacks = func(setting string, proxy net.Addr, err error) {
		h.Log.Warn("a connection of trusted-proxies does not begin as proxy-protocol says, and is closed", "listener", setting, "proxy", proxy, "error", err)
	}
	s.upgrades.host, s.upgrades.listeners, s.upgrades.serving = h, &s.listeners, &s.protocols
	s.upgrades.orders, s.upgrades.version = handedOrders{h, &s.outbound}, o.Version
	s.upgrades.done, s.upgrades.start = make(chan struct{}), handover.StartTime
}

// observe reports what happens to sessions, for the API and for another server.
func (s *Server) observe() {
	s.report = hooks.Reporter{&s.web.Recent}
	if s.events != nil {
		s.report = append(s.report, s.events)
	}
	s.host.Register.Observe(s.report)
	s.host.TookOver = s.report.TookOver
	s.host.OnRefusal = hooks.NewRefusals(s.report).Add
}

// attach creates the optional parts that the configuration asks for, and adds the
// metrics of all parts to those of the web server.
func (s *Server) attach(version string, times prometheus.Collector) error {
	c, metrics := s.host.Config(), s.web.Metrics
	metrics.MustRegister(buildInfo(version), faults(), times)
	for _, a := range s.handshakes() {
		metrics.MustRegister(a.metrics()...)
	}
	if s.memory != nil {
		metrics.MustRegister(memoryFigures(s.memory.Used, s.most)...)
	}
	if err := s.attachRecorders(c); err != nil {
		return err
	}
	if err := s.attachPushes(c); err != nil {
		return err
	}
	s.attachCommands()
	if s.events != nil {
		metrics.MustRegister(s.events.Metrics()...)
	}
	return s.attachPulls(c, version)
}

// attachRecorders makes what records streams.
func (s *Server) attachRecorders(c *config.Config) error {
	o := record.Options{Index: true, Format: record.Format(c.RecordFormat), Segment: c.RecordSegment, Logger: s.host.Log, Began: s.report.RecordBegan, Ended: s.report.RecordEnded}
	r := &recorders{options: o, of: s.host.For}
	s.outbound.recorders, s.host.Recorder = r, r
	s.web.Metrics.MustRegister(recordings.Metrics(r.list)...)
	if err := r.prepare(c); err != nil {
		return err
	}
	r.show(c)
	s.web.Recorded = web.NewRecorded(archive.Union(r.all), func(stream string, on bool) error {
		return r.control(stream, on, s.host.Hub)
	})
	s.web.HLS.Tapes = s.web.Recorded.Files
	return nil
}

// attachPushes makes what pushes streams to other servers.
func (s *Server) attachPushes(c *config.Config) error {
	targets, err := pushTargets(nil).next(c)
	if err != nil {
		return err
	}
	s.outbound.targets.Store(&targets)
	s.outbound.pusher = push.New(push.Options{
		Targets: func(stream string) []*push.Target { return s.outbound.targets.Load().of(s.host.For(stream).Push) },
		Streams: s.host.Hub.Streams,
		Agent:   s.pushAgent,
		Itself:  s.takesSRT,
		Logger:  s.host.Log,
	})
	s.host.Pusher, s.web.Pushes = s.outbound.pusher, s.outbound.pusher
	s.web.Metrics.MustRegister(s.outbound.pusher.Metrics())
	return nil
}

// pushAgent is what pushes say of this server, with the servers that the stream has passed.
// Some targets take only what calls itself as common encoders do.
func (s *Server) pushAgent(st *live.Stream) string {
	return append(slices.Clip(s.host.Passed(st)), s.host.ID).FlashVer("FMLE/3.0 (compatible; Sluice)")
}

// attachCommands makes what runs a program for each stream.
func (s *Server) attachCommands() {
	s.outbound.commands = command.New(command.Options{
		Of:     func(stream string) command.Command { return commandFor(stream, s.host.For(stream), s.Addresses()) },
		Most:   func() int { return s.host.Config().MaxCommands },
		Hide:   append(config.SecretVariables(), "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET"),
		Logger: s.host.Log,
	})
	s.host.Commands = s.outbound.commands
	s.web.Metrics.MustRegister(s.outbound.commands.Metrics()...)
}

// attachPulls makes what fetches streams: from an origin, from other nodes, from sources.
func (s *Server) attachPulls(c *config.Config, version string) error {
	metrics := s.web.Metrics
	if len(c.Origin) > 0 {
		o, err := pull.New(s.host, c.Origin, nil)
		if err != nil {
			return err
		}
		s.host.Puller = o
		metrics.MustRegister(o.Metrics()...)
	}
	if c.Cluster {
		s.cluster = newClustered(s.host, s.web, s.report, version)
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
