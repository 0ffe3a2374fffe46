// Package doctor looks at the machine on which a relay is going to run: what its
// configuration asks for and this machine does not have. It changes nothing, and binds
// the addresses of the configuration for a moment only.
package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

// Severity is how bad a Finding is.
type Severity string

const (
	OK      Severity = "ok"
	Warning Severity = "warning" // it will run, and not as well as it could
	Problem Severity = "problem" // serve will not start, or will fail
	Unknown Severity = "unknown" // it could not be looked at
)

// A Finding is what was found about one thing.
type Finding struct {
	Severity Severity `json:"severity"`
	What     string   `json:"what"`
	Says     string   `json:"says"` // what is, and what to do
}

// Look looks at everything, for a server with this configuration.
func Look(ctx context.Context, c config.Config) []Finding {
	findings := descriptors(c)
	findings = append(findings, kernel("/proc/sys", c)...)
	findings = append(findings, clock())
	findings = append(findings, ports(ctx, c)...)
	if c.Cert != "" {
		findings = append(findings, certificate(c.Cert, c.Key, time.Now()))
	}
	for _, dir := range directories(c) {
		findings = append(findings, directory(dir[0], dir[1]))
	}
	if c.BansFile != "" {
		findings = append(findings, bansDirectory("bans-file "+c.BansFile, filepath.Dir(c.BansFile)))
	}
	if config.On(c.UpgradeSocket) {
		findings = append(findings, socketDirectory("upgrade-socket "+c.UpgradeSocket, filepath.Dir(c.UpgradeSocket)))
	}
	return findings
}

// directories are those in which files are made, each with its setting.
func directories(c config.Config) (list [][2]string) {
	if c.Record != "" {
		list = append(list, [2]string{"record", c.Record})
	}
	for _, section := range c.Sections() {
		for _, v := range section.Values {
			if v.Name == "record" && v.Text != "" && !slices.Contains(list, [2]string{"record", v.Text}) {
				list = append(list, [2]string{"record", v.Text})
			}
		}
	}
	if c.EventHook != "" && c.EventSpool != "" {
		list = append(list, [2]string{"event-spool", c.EventSpool})
	}
	return list
}

// soonExpired is how long before its end a certificate is warned of.
const soonExpired = 14 * 24 * time.Hour

func certificate(cert, key string, now time.Time) Finding {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return Finding{Problem, "certificate " + cert, err.Error()}
	}
	return validity("certificate "+cert, pair.Leaf.NotBefore, pair.Leaf.NotAfter, now)
}

func validity(what string, from, until, now time.Time) Finding {
	day := until.UTC().Format(time.DateOnly)
	switch {
	case now.Before(from):
		return Finding{Problem, what, "is valid from " + from.UTC().Format(time.DateOnly) + " on: is the clock right?"}
	case now.After(until):
		return Finding{Problem, what, "has expired on " + day + ": renew it; SIGHUP makes a running server read it again"}
	case until.Sub(now) < soonExpired:
		return Finding{Warning, what, "expires on " + day + ": renew it; SIGHUP makes a running server read it again"}
	}
	return Finding{OK, what, "valid until " + day}
}

// socketDirectory looks whether serve can make its socket for upgrades in dir, and others cannot.
func socketDirectory(what, dir string) Finding {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return Finding{Problem, what, err.Error()}
	case info.Mode().Perm()&0o022 != 0:
		return Finding{Problem, what, "others can write to its directory: chmod go-w " + dir}
	}
	if f := directory(what, dir); f.Severity == Problem {
		return Finding{Problem, what, f.Says}
	}
	return Finding{OK, what, "its directory is writable, and not for others"}
}

// bansDirectory looks whether serve can replace the file of bans in dir, as it does when it starts.
func bansDirectory(what, dir string) Finding {
	if _, err := os.Stat(dir); err != nil {
		return Finding{Problem, what, err.Error()}
	}
	if f := directory(what, dir); f.Severity == Problem {
		return Finding{Problem, what, f.Says}
	}
	return Finding{OK, what, "its directory is writable"}
}

// leastSpace is how much free space a directory of recordings should have.
const leastSpace = 1 << 30

// directory looks whether files can be made in dir, and how much fits.
func directory(setting, dir string) Finding {
	what := setting + " " + dir
	f, err := os.CreateTemp(dir, ".doctor-*")
	if errors.Is(err, os.ErrNotExist) {
		return missing(what, dir)
	}
	if err != nil {
		return Finding{Problem, what, err.Error()}
	}
	_ = f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return Finding{Problem, what, err.Error()}
	}
	free, err := freeSpace(dir)
	switch {
	case err != nil:
		return Finding{Unknown, what, "writable; free space: " + err.Error()}
	case free < leastSpace:
		return Finding{Warning, what, fmt.Sprintf("writable, and has only %d MiB of free space", free>>20)}
	}
	return Finding{OK, what, fmt.Sprintf("writable, %d GiB free", free>>30)}
}

// missing looks whether a directory that is not there can be made: whether the nearest one above it
// that is there may be written to.
func missing(what, dir string) Finding {
	above := filepath.Dir(dir)
	for above != filepath.Dir(above) {
		if _, err := os.Stat(above); !errors.Is(err, os.ErrNotExist) {
			break
		}
		above = filepath.Dir(above)
	}
	if f := directory(what, above); f.Severity == Problem {
		return Finding{Problem, what, "is not there, and serve cannot make it: " + f.Says}
	}
	return Finding{Warning, what, "is not there; serve makes it"}
}
