package webrtc

import (
	"fmt"
	"log/slog"

	"github.com/pion/logging"
)

// logs takes what the library logs. All of it may be caused by any client, so it is for
// debugging only.
type logs struct{ log *slog.Logger }

func (l logs) NewLogger(scope string) logging.LeveledLogger { return scoped{l.log, scope} }

type scoped struct {
	log   *slog.Logger
	scope string
}

func (s scoped) say(text string) { s.log.Debug("webrtc: "+text, "of", s.scope) }

func (scoped) Trace(string)                   {}
func (scoped) Tracef(string, ...any)          {}
func (scoped) Debug(string)                   {}
func (scoped) Debugf(string, ...any)          {}
func (scoped) Info(string)                    {}
func (scoped) Infof(string, ...any)           {}
func (s scoped) Warn(m string)                { s.say(m) }
func (s scoped) Warnf(f string, args ...any)  { s.say(fmt.Sprintf(f, args...)) }
func (s scoped) Error(m string)               { s.say(m) }
func (s scoped) Errorf(f string, args ...any) { s.say(fmt.Sprintf(f, args...)) }
