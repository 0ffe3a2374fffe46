package relay

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"syscall"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/push"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/source"
)

// Check reports everything in a configuration that New would refuse although the
// configuration's own Check does not know it, each with the setting and the place where it
// was set. It reads the certificate and the file of bans, and changes nothing.
func Check(c *config.Config) error {
	var faults []error
	fault := func(place, setting string, err error) {
		faults = append(faults, config.Fault(place, setting, err))
	}
	targets := func(place string, texts []string) {
		for _, text := range texts {
			if text != "" {
				_, err := push.ParseTarget(text, os.Getenv)
				fault(place, "push", err)
			}
		}
	}
	targets(c.Place("push"), c.Push)
	for _, s := range c.Sections() {
		for _, v := range s.Values {
			if v.Name == "push" {
				targets(v.Place, strings.Split(v.Text, ","))
			}
		}
	}
	var dirs []string
	for _, v := range recordDirs(c) {
		path, err := resolved(v.Text)
		if err == nil {
			err = apart(path, dirs)
		}
		if err == nil {
			dirs, err = append(dirs, path), noFile(v.Text)
		}
		fault(v.Place, "record", err)
	}
	if c.BansFile != "" {
		fault(c.Place("bans-file"), "bans-file", access.CheckBans(c.BansFile))
	}
	if c.EventHook != "" {
		fault(c.Place("event-spool"), "event-spool", noFile(c.EventSpool))
	}
	_, err := source.ParseAll(c.Source)
	fault(c.Place("source"), "source", err)
	if secure(c) && c.Cert != "" && c.Key != "" {
		_, err := listen.LoadCertificate(c.Cert, c.Key, slog.New(slog.DiscardHandler))
		setting := "cert"
		if file := (*fs.PathError)(nil); errors.As(err, &file) && file.Path != c.Cert {
			setting = "key"
		}
		fault(c.Place(setting), setting, err)
	}
	return errors.Join(faults...)
}

// noFile returns an error for a name, or empty for none, of something that is no directory.
// What is not there is made.
func noFile(name string) error {
	if info, err := os.Stat(name); name == "" || err != nil || info.IsDir() {
		return nil
	}
	return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.ENOTDIR}
}

// secure reports whether there is a listener with TLS.
func secure(c *config.Config) bool {
	return config.On(c.RTMPS) || config.On(c.HTTPS) || config.On(c.RTSPS)
}
