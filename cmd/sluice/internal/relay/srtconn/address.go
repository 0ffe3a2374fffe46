package srtconn

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	srt "github.com/datarhei/gosrt"
)

// An Address is a server that is called: srt://HOST:PORT, and what the query says.
type Address struct {
	Host       string // HOST:PORT
	StreamID   string
	Passphrase string
	Latency    time.Duration // 0: the library's
}

const (
	// Lengths of a passphrase (SRT draft, section 6.1.1).
	shortestPassphrase, longestPassphrase = 10, 79
	// MaxStreamID is the longest stream id (section 3.2.1.3).
	MaxStreamID = 512
	// MaxLatency bounds how long lost packets are waited for, and so memory.
	MaxLatency = 8 * time.Second
	// MaxBuffer is how many bytes the library may hold for a connection. It has no limit
	// of its own.
	MaxBuffer = 32 << 20
)

// ParseAddress reads the host and the query of an address: streamid, passphrase, latency
// in milliseconds, and mode, which is caller. Errors have no value in them.
func ParseAddress(u *url.URL) (*Address, error) {
	if u.Port() == "" || u.Hostname() == "" {
		return nil, errors.New("without a host and a port")
	}
	if !PortFits(u.Port()) {
		return nil, errors.New("whose port is not a number from 1 to 65535")
	}
	if u.User != nil || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return nil, errors.New("with more than host, port and query: # is written %23")
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("with a query that cannot be read")
	}
	a := &Address{Host: u.Host}
	for key, values := range q {
		v := values[0]
		switch {
		case len(values) > 1:
			return nil, fmt.Errorf("with %.40q twice", key)
		case key == "streamid" && len(v) <= MaxStreamID:
			a.StreamID = v
		case key == "passphrase" && len(v) >= shortestPassphrase && len(v) <= longestPassphrase:
			a.Passphrase = v
		case key == "passphrase":
			return nil, fmt.Errorf("with a passphrase that has not %d to %d characters", shortestPassphrase, longestPassphrase)
		case key == "mode" && v == "caller":
		case key == "mode":
			return nil, errors.New("with another mode than caller")
		case key == "latency":
			ms, err := strconv.Atoi(v)
			if err != nil || ms < 1 || ms > int(MaxLatency/time.Millisecond) {
				return nil, fmt.Errorf("with a latency that is no number of milliseconds from 1 to %d", MaxLatency/time.Millisecond)
			}
			a.Latency = time.Duration(ms) * time.Millisecond
		default:
			return nil, fmt.Errorf("with %.40q, which is none of streamid, passphrase, latency and mode, or is too long", key)
		}
	}
	return a, nil
}

// PortFits reports whether a text is the number of a port that can be called.
func PortFits(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// Config is the library's configuration for a call.
func (a *Address) Config() srt.Config {
	c := srt.DefaultConfig()
	c.StreamId, c.Passphrase = a.StreamID, a.Passphrase
	if a.Latency > 0 {
		c.ReceiverLatency, c.PeerLatency = a.Latency, a.Latency
	}
	return c
}
