package relay

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hooks"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// settings are those of the server, and what a reload applies them to.
type settings struct {
	current atomic.Pointer[config.Config]
	again   func() (config.Config, error) // nil: the configuration cannot be read again
	level   *slog.LevelVar                // nil: it cannot be changed
	ask     hooks.AdmissionOptions

	host       *session.Host // has the gate and the streams
	to         *outbound
	handshakes []handshakes
	proxies    listen.Proxies
	certs      *listen.Certificate // nil: no TLS

	reading sync.Mutex // by one at a time, or an older reading would be applied last

	mu    sync.Mutex // one reload at a time
	rules *ruleSet
}

// begin applies those that the server begins with to what is there before the gate, whose
// rules it returns.
func (s *settings) begin(c *config.Config, log *slog.Logger) (o access.Options, err error) {
	s.current.Store(c)
	proxies, err := trusted(c)
	if err != nil {
		return o, err
	}
	if err := s.proxies.Update(proxies); err != nil {
		return o, err
	}
	s.rules, o, err = newRules(c, s.ask, log)
	return o, err
}

// reload is Server.Reload.
func (s *settings) reload(c config.Config) (changed, waiting []string, err error) {
	if err := errors.Join(c.Check(), Check(&c)); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := *s.current.Load()
	changed, waiting = next.Reload(c)
	// Steps that can fail come first.
	proxies, err := trusted(&next)
	if err != nil {
		return nil, nil, err
	}
	rules, o, err := newRules(&next, s.ask, s.host.Log)
	if err != nil {
		return nil, nil, err
	}
	targets, err := s.to.targets.Load().next(&next)
	if err != nil {
		return nil, nil, err
	}
	if err := s.to.recorders.prepare(&next); err != nil {
		return nil, nil, err
	}
	if s.certs != nil && next.Cert != "" { // TLS that is taken out ends with a restart
		if err := s.certs.Use(next.Cert, next.Key); err != nil {
			return nil, nil, err
		}
	}
	if err := s.host.Gate.Update(o); err != nil {
		return nil, nil, fmt.Errorf("rules: %w", err)
	}
	if err := s.proxies.Update(proxies); err != nil {
		return nil, nil, err
	}
	s.rules.close()
	s.rules = rules
	s.to.targets.Store(&targets)
	s.current.Store(&next)
	s.to.pusher.Refresh()
	s.to.commands.Refresh(s.host.Hub.Streams())
	s.to.recorders.show(&next)
	s.to.recorders.refresh(s.host.Hub.Streams())
	for _, a := range s.handshakes {
		a.Limit(next.MaxHandshakes, next.MaxHandshakesPerAddress)
	}
	if s.level != nil {
		s.level.Set(Level(next.LogLevel))
	}
	return changed, waiting, nil
}

// reloadAgain is Server.ReloadAgain.
func (s *settings) reloadAgain() (changed, waiting []string, err error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	c, err := s.again()
	if err == nil {
		changed, waiting, err = s.reload(c)
	}
	if err != nil {
		s.host.Log.Error("the configuration stays what it was", "error", err)
		return nil, nil, err
	}
	s.host.Log.Info("configuration read again", "changed", strings.Join(changed, " "))
	if len(waiting) > 0 {
		s.host.Log.Warn("settings wait for a restart", "settings", strings.Join(waiting, " "))
	}
	return changed, waiting, nil
}

// close ends what the rules of the gate ask.
func (s *settings) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules.close()
}

// Level returns the log level with that name, and info for an unknown name.
func Level(name string) slog.Level {
	var l slog.Level
	if err := l.UnmarshalText([]byte(strings.ToUpper(name))); err != nil {
		return slog.LevelInfo
	}
	return l
}
