package transport

import (
	"fmt"
	"log/slog"
)

// engineLog passes the engine's log on. What it says of single connections is for
// those who look for a fault.
type engineLog struct{ log *slog.Logger }

func (l engineLog) Noticef(format string, v ...any) {}
func (l engineLog) Debugf(format string, v ...any)  {}
func (l engineLog) Tracef(format string, v ...any)  {}
func (l engineLog) Warnf(format string, v ...any)   { l.say(format, v) }
func (l engineLog) Errorf(format string, v ...any)  { l.say(format, v) }
func (l engineLog) Fatalf(format string, v ...any) {
	l.log.Error("cluster engine", "says", fmt.Sprintf(format, v...))
}

func (l engineLog) say(format string, v []any) {
	l.log.Debug("cluster engine", "says", fmt.Sprintf(format, v...))
}
