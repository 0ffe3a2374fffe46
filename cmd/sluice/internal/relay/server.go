package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// A Server is a live relay. New makes it; then come Listen and Serve.
type Server struct {
	settings  atomic.Pointer[config.Config]
	reloading sync.Mutex // one Reload at a time
	version   string
	level     *slog.LevelVar // nil: it cannot be changed
	times     times
	log       *slog.Logger
	alloc     *mem.Allocator
	began     time.Time

	gate     *access.Gate
	hub      *live.Hub
	writer   *live.Writer
	clients  *clients
	history  *history
	puller   puller   // nil: no origin
	recorder recorder // nil: nothing is recorded

	listeners []*listener
	certs     *certificate // nil: no TLS
	web       *web

	ctx      context.Context // done when the server begins to shut down
	stop     context.CancelFunc
	sessions sessions // what has to end first
	ending   sync.Once
	ended    chan struct{} // closed when Shutdown is through
	endErr   error
}

// Options are what a server takes beside its configuration.
type Options struct {
	Logger  *slog.Logger   // nil is slog.Default
	Level   *slog.LevelVar // of the logger, which Reload sets; nil when that cannot be
	Version string         // of the program, for the API
	times   times          // zero for the usual ones
}

// New makes a server of a configuration, which it checks.
func New(c config.Config, o Options) (*Server, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	log := o.Logger
	if log == nil {
		log = slog.Default()
	}
	s := &Server{
		version: o.Version,
		level:   o.Level,
		times:   o.times.withDefaults(),
		log:     log,
		alloc:   mem.Default(),
		began:   time.Now(),
		clients: newClients(log),
		ended:   make(chan struct{}),
	}
	s.settings.Store(&c)
	var err error
	if s.gate, err = newGate(&c); err != nil {
		return nil, err
	}
	if config.On(c.RTMPS) || config.On(c.HTTPS) {
		if s.certs, err = loadCertificate(c.Cert, c.Key, log); err != nil {
			return nil, err
		}
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.hub = live.NewHub(live.HubOptions{Stream: live.StreamOptions{
		GOPBytes:  c.GOPBytes,
		GOPFrames: c.GOPFrames,
		GOPTime:   c.GOPTime,
		NoGOP:     !c.GOP,
		Grace:     c.Grace,
		Allocator: s.alloc,
	}})
	s.writer = live.NewWriter(live.WriterOptions{Merge: c.Merge})
	s.history = newHistory(s.times.sample)
	s.web = newWeb(s)
	if err := s.attach(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// config is what holds at the moment. It is not to be changed.
func (s *Server) config() *config.Config { return s.settings.Load() }

func newGate(c *config.Config) (*access.Gate, error) {
	o, err := rules(c)
	if err != nil {
		return nil, err
	}
	return access.New(o)
}

// rules are what the gate is to know of the settings.
func rules(c *config.Config) (o access.Options, err error) {
	o = access.Options{
		Secret:               []byte(c.TokenSecret),
		Hook:                 c.Hook,
		MaxStreams:           c.MaxStreams,
		MaxViewers:           c.MaxViewers,
		MaxViewersPerAddress: c.MaxViewersPerAddress,
	}
	if o.Protect, err = access.ParseActions(strings.Join(c.Protect, ",")); err != nil {
		return o, err
	}
	if o.AllowPublish, err = access.ParseAllow(strings.Join(c.AllowPublish, ",")); err != nil {
		return o, err
	}
	if o.AllowPlay, err = access.ParseAllow(strings.Join(c.AllowPlay, ",")); err != nil {
		return o, err
	}
	return o, nil
}

// closing tells whether the server has begun to shut down.
func (s *Server) closing() bool { return s.ctx.Err() != nil }

// Serve runs the server, which must listen, until ctx is done or a listener
// fails. Then it shuts down, for at most DrainTime, and returns the listener's
// error. That sessions had to be cut off is no error. After Shutdown or Close by others it returns
// http.ErrServerClosed. It may be called once.
func (s *Server) Serve(ctx context.Context) error {
	failed := make(chan error, len(s.listeners)+1)
	var running sync.WaitGroup
	for _, l := range s.listeners {
		running.Go(func() {
			if err := l.serve(l); err != nil && !s.closing() {
				failed <- fmt.Errorf("%s: %w", l.setting, err)
			}
		})
	}
	running.Go(func() { s.history.run(s.ctx, s.sample) })
	var err error
	select {
	case <-ctx.Done():
		s.log.Info("shutting down", "publishers", s.clients.number(rolePublisher), "viewers", s.clients.number(roleViewer))
	case err = <-failed:
		s.log.Error("a listener failed", "error", err)
	case <-s.ctx.Done():
		err = http.ErrServerClosed
	}
	if err != http.ErrServerClosed {
		drain, cancel := context.WithTimeout(context.Background(), DrainTime)
		defer cancel()
		ending := s.Shutdown(drain)
		if errors.Is(ending, context.DeadlineExceeded) {
			s.log.Warn("sessions were cut off", "after", DrainTime, "error", ending)
			ending = nil
		}
		err = errors.Join(err, ending)
	}
	running.Wait()
	<-s.ended
	return err
}

// DrainTime is how long Serve lets sessions end by themselves.
const DrainTime = 5 * time.Second

// Shutdown ends the server: it accepts nobody any more, publishers and viewers
// are ended, who have time until ctx is done to get what is on its way to them,
// and recordings are finished. It returns the context's error when that time
// was too short; everything is closed all the same. Later calls wait for the
// first.
func (s *Server) Shutdown(ctx context.Context) error {
	s.ending.Do(func() {
		s.endErr = s.shutdown(ctx)
		close(s.ended)
	})
	<-s.ended
	return s.endErr
}

// Close is Shutdown without time.
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
	s.stop()
	var errs []error
	for _, l := range s.listeners {
		l.Close()
	}
	for _, c := range s.clients.list() {
		if c.role == rolePublisher {
			c.stop(errClosing)
		}
	}
	if s.puller != nil {
		errs = append(errs, s.puller.Close(ctx))
	}
	// Viewers get what is left of their streams, recordings too.
	s.hub.Close()
	if s.recorder != nil {
		errs = append(errs, s.recorder.Close(ctx))
	}
	errs = append(errs, s.writer.Shutdown(ctx), s.web.shutdown(ctx), s.sessions.wait(ctx))
	s.writer.Close()
	s.web.close()
	s.sessions.closeAll()
	s.sessions.wait(context.Background())
	s.gate.Close()
	return errors.Join(errs...)
}
