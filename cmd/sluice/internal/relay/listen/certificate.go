package listen

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Certificate is the certificate of TLS listeners. It is read again when the
// files have changed, so that a renewed one needs no restart.
type Certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	now     *tls.Certificate
	stamp   [2]fileStamp
	checked time.Time
	said    int // about the time in which it is valid
}

// What the log says about that time, each once, in this order.
const (
	saidEarly = 1 + iota
	saidSoon
	saidEnded
)

// fileStamp identifies a version of a file.
type fileStamp struct {
	modified time.Time
	size     int64
}

// checkEvery is how often the files are checked for changes, when connections
// come.
const checkEvery = 10 * time.Second

func LoadCertificate(certFile, keyFile string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, log: log}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c, c.load()
}

// load reads the files. The lock is held.
func (c *Certificate) load() error {
	// Take the stamps first, so that a change in between is noticed at the next
	// check.
	stamp := c.stamps()
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", c.certFile, c.keyFile, err)
	}
	c.now, c.stamp, c.checked, c.said = &pair, stamp, time.Now(), 0
	c.check(c.checked)
	return nil
}

// soonExpired is how long before its end a certificate is warned of, if that is not more than
// a third of its life.
const soonExpired = 14 * 24 * time.Hour

// check logs once that clients refuse the certificate or are going to: the server does not
// see why they go. The lock is held.
func (c *Certificate) check(now time.Time) {
	from, until := c.now.Leaf.NotBefore, c.now.Leaf.NotAfter
	switch {
	case now.Before(from) && c.said < saidEarly:
		c.said = saidEarly
		c.log.Error("the certificate is not valid yet, or the clock is wrong: clients refuse it", "file", c.certFile, "from", from)
	case now.After(until) && c.said < saidEnded:
		c.said = saidEnded
		c.log.Error("the certificate has expired: clients refuse it", "file", c.certFile, "until", until)
	case now.After(from) && until.Sub(now) < min(soonExpired, until.Sub(from)/3) && c.said < saidSoon:
		c.said = saidSoon
		c.log.Warn("the certificate expires soon: renew it", "file", c.certFile, "until", until)
	}
}

func (c *Certificate) stamps() (s [2]fileStamp) {
	for i, name := range []string{c.certFile, c.keyFile} {
		if info, err := os.Stat(name); err == nil {
			s[i] = fileStamp{info.ModTime(), info.Size()}
		}
	}
	return s
}

// get returns the certificate for a handshake.
func (c *Certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checked) >= checkEvery {
		c.checked = time.Now()
		if c.stamps() != c.stamp {
			c.again()
		}
		c.check(c.checked)
	}
	return c.now, nil
}

// again reads the files. When they are invalid or half written, the old
// certificate stays. The lock is held.
func (c *Certificate) again() {
	if err := c.load(); err != nil {
		c.log.Error("the certificate stays what it was", "error", err)
		return
	}
	c.log.Info("certificate read again", "file", c.certFile, "until", c.now.Leaf.NotAfter)
}

// Use switches to these files. When they are invalid, nothing changes. Open
// connections keep the certificate that they have.
func (c *Certificate) Use(certFile, keyFile string) error {
	next, err := LoadCertificate(certFile, keyFile, c.log)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.certFile, c.keyFile = certFile, keyFile
	c.now, c.stamp, c.checked, c.said = next.now, next.stamp, next.checked, next.said
	return nil
}

// Config returns the TLS configuration of a listener that offers these ALPN
// protocols.
func (c *Certificate) Config(protocols ...string) *tls.Config {
	// Records are full from the first: what is sent begins with a group of pictures.
	return &tls.Config{GetCertificate: c.get, NextProtos: protocols, MinVersion: tls.VersionTLS12, DynamicRecordSizingDisabled: true}
}
