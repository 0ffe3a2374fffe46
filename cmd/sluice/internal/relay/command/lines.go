package command

import (
	"bytes"
	"log/slog"
	"strings"
	"time"
)

const (
	// maxLine is how much of a line is logged, in bytes.
	maxLine = 500
	// maxRate is how many lines are logged in a second.
	maxRate = 50
)

// lines logs what a program prints, line by line. A carriage return ends a line too, as
// programs use it to show progress. It has one caller at a time.
type lines struct {
	log     *slog.Logger
	line    []byte
	second  time.Time
	count   int // lines in that second
	dropped int
}

// Write implements io.Writer. p is borrowed until it returns.
func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexAny(p, "\r\n")
		part := p
		if end >= 0 {
			part = p[:end]
		}
		l.line = append(l.line, part[:min(len(part), maxLine-len(l.line))]...)
		if end < 0 {
			break
		}
		l.flush()
		p = p[end+1:]
	}
	return n, nil
}

// flush logs the line, unless it is empty.
func (l *lines) flush() {
	text := strings.TrimSpace(strings.ToValidUTF8(string(l.line), "?"))
	l.line = l.line[:0]
	if text == "" {
		return
	}
	if now := time.Now(); now.Sub(l.second) >= time.Second {
		if l.dropped > 0 {
			l.log.Warn("command prints too much: lines are left out", "lines", l.dropped)
		}
		l.second, l.count, l.dropped = now, 0, 0
	}
	if l.count++; l.count > maxRate {
		l.dropped++
		return
	}
	l.log.Info("command says", "line", text)
}
