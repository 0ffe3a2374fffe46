package relay

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hooks"
)

// Reload applies the settings of c that can change while the server runs. It
// affects new sessions and streams, pushes and recordings, and ends no session. It returns the names of the settings that
// were changed and of those that wait for a restart. After an error nothing has
// changed. The certificate is read again, too.
func (s *Server) Reload(c config.Config) (changed, waiting []string, err error) {
	if err := errors.Join(c.Check(), Check(&c)); err != nil {
		return nil, nil, err
	}
	s.reloading.Lock()
	defer s.reloading.Unlock()
	next := *s.settings.Load()
	changed, waiting = next.Reload(c)
	// Steps that can fail come first.
	proxies, err := trusted(&next)
	if err != nil {
		return nil, nil, err
	}
	rules, o, err := newRules(&next, hooks.AdmissionOptions{Timeout: s.host.Times.Hook, Done: s.observeHook}, s.log)
	if err != nil {
		return nil, nil, err
	}
	targets, err := s.outbound.targets.Load().next(&next)
	if err != nil {
		return nil, nil, err
	}
	if err := s.outbound.recorders.prepare(&next); err != nil {
		return nil, nil, err
	}
	if s.certs != nil {
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
	s.outbound.targets.Store(&targets)
	s.settings.Store(&next)
	s.outbound.pusher.Refresh()
	s.outbound.commands.Refresh(s.host.Hub.Streams())
	s.outbound.recorders.refresh(s.host.Hub.Streams())
	for _, a := range s.handshakes() {
		a.Limit(next.MaxHandshakes, next.MaxHandshakesPerAddress)
	}
	if s.level != nil {
		s.level.Set(Level(next.LogLevel))
	}
	return changed, waiting, nil
}

// ReloadAgain reads the configuration again, applies it as Reload does, and logs what
// has come of it.
func (s *Server) ReloadAgain() (changed, waiting []string, err error) {
	c, err := s.again()
	if err == nil {
		changed, waiting, err = s.Reload(c)
	}
	if err != nil {
		s.log.Error("the configuration stays what it was", "error", err)
		return nil, nil, err
	}
	s.log.Info("configuration read again", "changed", strings.Join(changed, " "))
	if len(waiting) > 0 {
		s.log.Warn("settings wait for a restart", "settings", strings.Join(waiting, " "))
	}
	return changed, waiting, nil
}

// Level returns the log level with that name, and info for an unknown name.
func Level(name string) slog.Level {
	var l slog.Level
	if err := l.UnmarshalText([]byte(strings.ToUpper(name))); err != nil {
		return slog.LevelInfo
	}
	return l
}
