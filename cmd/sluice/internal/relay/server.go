package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/archive"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/handover"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hooks"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/memory"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/internal/sys"
)

// A Server is a live relay. New makes it; then come Listen and Serve.
type Server struct {
	protocols
	settings  settings
	host      *session.Host
	listeners listeners
	outbound  outbound
	most      int64          // bytes that it may take, 0: no limit is known
	memory    *memory.Keeper // nil: the same
	events    *hooks.Events  // nil: no other server gets events
	report    hooks.Reporter // what happens, for it and for the API
	cluster   *clustered     // nil: this server is alone
	upgrades  upgrades
	successor bool // it takes over from another process, and its ports when that has let go

	stop   context.CancelFunc
	ending sync.Once
	ended  chan struct{} // closed when Shutdown has finished
	endErr error
	awaits atomic.Value // string: what the end waits for
}

// ErrHangs means that something did not end with the server, which has ended without it.
var ErrHangs = errors.New("the end was cut off")

// manyDescriptors is for how many there is room from the beginning: 128 KB of the
// kernel's memory.
const manyDescriptors = 1 << 14

// Listen opens all listeners, so that their addresses are known. If one fails, it
// opens none and returns a *ListenError.
func (s *Server) Listen() error {
	sys.RoomForDescriptors(manyDescriptors)
	c := s.host.Config()
	err := s.listeners.open(s.endpoints(c, s.settings.certs), c.ProxyProtocol)
	if err == nil && !s.successor { // its predecessor has these ports until it has let go
		err = s.ports().open(c)
	}
	at := s.listenedAt()
	if err == nil && s.cluster != nil {
		err = s.cluster.open(at)
	}
	if err == nil && !s.successor {
		err = s.listenUpgrades(c)
	}
	if err != nil {
		s.listeners.close()
		s.listeners.list = nil
		return err
	}
	s.listeners.at.Store(&at)
	return nil
}

func (s *Server) ports() ports { return ports{s.host, &s.protocols, &s.listeners} }

// listenedAt returns the addresses of the listeners that there are.
func (s *Server) listenedAt() map[string]string {
	at := s.listeners.addresses()
	if s.webrtc != nil {
		at["webrtc"] = s.webrtc.Addr().String()
	}
	return at
}

// listenUpgrades opens the socket for upgrades, if there is to be one.
func (s *Server) listenUpgrades(c *config.Config) error {
	return s.upgrades.socket.listen(UpgradeSocket(c, os.Getenv), s.successor)
}

// Addresses returns where the server listens, by the names of the settings.
// It is empty before Listen. The result is for reading only.
func (s *Server) Addresses() map[string]string {
	if at := s.listeners.at.Load(); at != nil {
		return *at
	}
	return nil
}

// MaxMemory returns how many bytes the server takes at most for streams, queues and what the
// kernel holds for connections; 0 when no limit is known.
func (s *Server) MaxMemory() int64 { return s.most }

// Reload applies the settings of c that can change while the server runs. It
// affects new sessions and streams, pushes and recordings, and ends no session. It returns the names of the settings that
// were changed and of those that wait for a restart. After an error nothing has
// changed. The certificate is read again, too.
func (s *Server) Reload(c config.Config) (changed, waiting []string, err error) {
	return s.settings.reload(c)
}

// ReloadAgain reads the configuration again, applies it as Reload does, and logs what
// has come of it.
func (s *Server) ReloadAgain() (changed, waiting []string, err error) {
	return s.settings.reloadAgain()
}

// HandOver gives everything that can be to the process at the other end of c, transferred,
// and makes Serve end when it has been taken. With an error this server goes on as if
// nothing had been.
func (s *Server) HandOver(c *handover.Conn) error { return s.upgrades.handOver(c) }

// TakeOver says that this server, which listens, is ready, and takes over what its
// predecessor has. With an error that goes on, and this server must be closed. Without,
// the predecessor is about to end. Serve comes next.
func (s *Server) TakeOver(i *Inheritance) error { return s.takeOver(i, func() {}) }

// takeOver calls before when it has everything, before it says so.
func (s *Server) takeOver(i *Inheritance, before func()) error {
	if err := s.upgrades.takeOver(i, before); err != nil {
		return err
	}
	c := s.host.Config()
	s.ports().openLate(c)
	if err := s.listenUpgrades(c); err != nil {
		s.host.Log.Error("no socket for upgrades", "error", err)
	}
	at := s.listenedAt()
	s.listeners.at.Store(&at)
	return nil
}

// Serve runs the server, which must listen, until ctx is done or a listener
// fails. Then it shuts down, for at most DrainTime, and returns the listener's
// error. It is not an error if sessions had to be cut off. What does not end then, as what waits for a disk that does
// not answer, is left behind after Times.End, with ErrHangs: the process is to end. After a call of
// Shutdown or Close it returns http.ErrServerClosed. Call it once.
func (s *Server) Serve(ctx context.Context) error {
	failed := make(chan error, len(s.listeners.list)+1)
	var running sync.WaitGroup
	for _, l := range s.listeners.list {
		running.Go(func() {
			if err := l.serve(l); err != nil && !s.host.Closing() {
				failed <- fmt.Errorf("%s: %w", l.setting, err)
			}
		})
	}
	running.Go(func() { s.upgrades.socket.serve(s.upgrades.handOver, s.host.Log) })
	running.Go(func() { s.web.Sample(s.host.Ctx) })
	running.Go(func() {
		tick := time.NewTicker(saveBansEvery)
		defer tick.Stop()
		saveBans(s.host.Ctx, s.host.Gate, tick.C, s.upgrades.handedOver, s.host.Log)
	})
	running.Go(func() { archive.Union(s.outbound.recorders.all).Keep(s.host.Ctx, sweepEvery, s.kept, s.host.Log) })
	if s.memory != nil {
		running.Go(func() { s.memory.Run(s.host.Ctx) })
	}
	running.Go(func() { s.report.WatchStalls(s.host.Ctx, s.host.Register) })
	pushes := pushWatch{report: s.report, list: s.outbound.pusher.List}
	running.Go(func() { pushes.run(s.host.Ctx) })
	var err error
	select {
	case <-ctx.Done():
		s.host.Log.Info("shutting down", "publishers", s.host.Register.Number(session.RolePublisher), "viewers", s.host.Register.Number(session.RoleViewer))
	case err = <-failed:
		s.host.Log.Error("a listener failed", "error", err)
	case <-s.upgrades.done:
		s.upgrades.letGo()
	case <-s.host.Ctx.Done():
		err = http.ErrServerClosed
	}
	if err == http.ErrServerClosed {
		running.Wait()
		<-s.ended
		return err
	}
	if s.cluster != nil && ctx.Err() != nil {
		s.cluster.leave()
	}
	over := make(chan error, 1)
	go func() { over <- s.finish(err, &running) }()
	steps := time.NewTicker(s.host.Times.End / endSteps)
	defer steps.Stop()
	for range endSteps {
		select {
		case err := <-over:
			return err
		case <-steps.C:
		}
	}
	return errors.Join(err, fmt.Errorf("%w after %v, while it waited for %v: a disk that does not answer, perhaps", ErrHangs, s.host.Times.End, s.awaits.Load()))
}

// endSteps are the parts of Times.End: a time in which the process stands still is one of them.
const endSteps = 12

// finish ends the server, which Serve has decided on because of err, nil for its context, and returns Serve's error.
func (s *Server) finish(err error, running *sync.WaitGroup) error {
	drain, cancel := context.WithTimeout(context.Background(), DrainTime)
	defer cancel()
	first, ending := s.end(drain)
	switch {
	case !first: // Shutdown or Close was called as well, and has said how that went
		err = cmp.Or(err, http.ErrServerClosed)
	case errors.Is(ending, context.DeadlineExceeded):
		s.host.Log.Warn("sessions were cut off", "after", DrainTime, "error", ending)
	case ending != nil:
		err = errors.Join(err, ending)
	}
	s.awaits.Store("work that goes on beside, such as the deletion of recordings")
	running.Wait()
	return err
}

// sweepEvery is how often recordings are deleted that are no longer kept.
const sweepEvery = 30 * time.Second

// kept is what is kept of recordings.
func (s *Server) kept() archive.Limits {
	c := s.host.Config()
	return archive.Limits{Age: c.RecordKeep, Size: c.RecordSize}
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
	s.awaits.Store("listeners and publishers")
	if s.cluster != nil {
		s.cluster.drain() // before streams end, so that others look elsewhere
		defer s.cluster.close()
	}
	s.stop()
	s.upgrades.socket.close(s.upgrades.handedOver)
	var errs []error
	s.listeners.close()
	if s.webrtc != nil {
		s.webrtc.Drain()
	}
	for _, c := range s.host.Register.List() {
		if c.Role == session.RolePublisher {
			c.Stop(session.ErrClosing)
		}
	}
	s.awaits.Store("streams that are pulled")
	if s.host.Puller != nil {
		errs = append(errs, s.host.Puller.Close(ctx))
	}
	// Viewers and recordings get the rest of their streams.
	s.host.Hub.Close()
	s.awaits.Store("recordings")
	if s.host.Recorder != nil {
		errs = append(errs, s.host.Recorder.Close(ctx))
	}
	s.awaits.Store("commands")
	if s.host.Commands != nil {
		errs = append(errs, s.host.Commands.Close(ctx))
	}
	s.awaits.Store("pushes")
	if s.host.Pusher != nil {
		errs = append(errs, s.host.Pusher.Close(ctx))
	}
	s.awaits.Store("sessions")
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
	s.awaits.Store("the delivery of events, and the directory for them")
	if s.events != nil { // all sessions have ended
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			// The events of those that were cut off have not been delivered.
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(context.Background(), s.host.Times.Events)
			defer cancel()
		}
		errs = append(errs, s.events.Close(ctx))
	}
	s.awaits.Store("the file of bans")
	if !s.upgrades.handedOver() { // the successor has the file
		if err := s.host.Gate.SaveBans(); err != nil {
			s.host.Log.Error("bans are not saved: at a restart they will be what they were", "error", err)
		}
	}
	s.settings.close()
	return errors.Join(errs...)
}
