package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sluice-go/sluice/lab/internal/echo"
)

// echoLines says what an echo server does, to people in lines, to programs in
// JSON, one object a line. Either may be nil.
type echoLines struct {
	people, programs io.Writer
}

// echoListening is the first line for programs.
type echoListening struct {
	Event       string `json:"event"` // listening
	Address     string `json:"address"`
	Engine      string `json:"engine"`
	How         string `json:"how"`
	Buffer      int    `json:"buffer"`       // bytes
	WriteBuffer int    `json:"write_buffer"` // bytes
	Listeners   int    `json:"listeners"`
	Pprof       string `json:"pprof,omitempty"` // URL
}

// echoStats are the others.
type echoStats struct {
	Event       string  `json:"event"`       // stats, or total for the last one
	Seconds     float64 `json:"seconds"`     // that it is about
	Connections int     `json:"connections"` // now
	Accepted    uint64  `json:"accepted"`    // since the beginning
	Requests    uint64  `json:"requests"`    // within the seconds
	Bytes       uint64  `json:"bytes"`       // within the seconds
}

// say prints a line in both forms.
func (o echoLines) say(event any, format string, args ...any) error {
	if o.people != nil {
		if _, err := fmt.Fprintf(o.people, format+"\n", args...); err != nil {
			return err
		}
	}
	if o.programs != nil {
		return json.NewEncoder(o.programs).Encode(event)
	}
	return nil
}

func (o echoLines) listening(s *echo.Server, settings echo.Settings, pprof string) error {
	e := echoListening{
		Event: "listening", Address: s.Addr().String(), Engine: settings.Engine, How: s.About(),
		Buffer: settings.Buffer, WriteBuffer: settings.WriteBuffer, Listeners: settings.Listeners, Pprof: pprof,
	}
	if s.Addr().Network() == "unix" {
		e.Address = "unix:" + e.Address
	}
	text := fmt.Sprintf("listening on %s\n%s; listeners: %d", e.Address, e.How, e.Listeners)
	if pprof != "" {
		text += "\nprofiles on " + pprof
	}
	return o.say(e, "%s", text)
}

// follow prints lines until the server has ended, and returns why it did. When
// nothing can be printed any more it stops the server.
func (o echoLines) follow(s *echo.Server, every time.Duration, ended <-chan error, stop func()) error {
	var tick <-chan time.Time
	if every > 0 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		tick = ticker.C
	}
	began := time.Now()
	last, then := echo.Counts{}, began
	for {
		select {
		case err := <-ended:
			return errors.Join(err, o.total(s.Counts(), time.Since(began)))
		case now := <-tick:
			c := s.Counts()
			if err := o.stats(c, last, now.Sub(then)); err != nil {
				stop()
				return errors.Join(err, <-ended)
			}
			last, then = c, now
		}
	}
}

func (o echoLines) stats(c, last echo.Counts, took time.Duration) error {
	e := echoStats{"stats", took.Seconds(), c.Open, c.Accepted, c.Requests - last.Requests, c.Bytes - last.Bytes}
	return o.say(e, "%s  %d connections  %.0f requests/s  %.1f MB/s", time.Now().Format(time.TimeOnly),
		e.Connections, float64(e.Requests)/e.Seconds, float64(e.Bytes)/1e6/e.Seconds)
}

func (o echoLines) total(c echo.Counts, took time.Duration) error {
	e := echoStats{"total", took.Seconds(), c.Open, c.Accepted, c.Requests, c.Bytes}
	return o.say(e, "%d connections, %d requests, %.1f MB in %.1f s", e.Accepted, e.Requests, float64(e.Bytes)/1e6, e.Seconds)
}
