package transport

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Reasons to leave a message out.
var (
	ErrShort  = errors.New("transport: the message is too short")
	ErrForged = errors.New("transport: the message was not made with the cluster's secret, or was altered")
	ErrOld    = errors.New("transport: the message is too old, or a clock is wrong")
	ErrReplay = errors.New("transport: the message has come before")
)

const (
	macSize = sha256.Size
	// skew is how far the clocks of two nodes may be apart, with the message's way
	// added.
	skew = 30 * time.Second
	// window is how many messages may have overtaken one that is still accepted.
	window = 64
	// quiet is how long a node's run is silent until another one may follow that began earlier,
	// by a clock that was set back or is not set yet. A run that lives sends every second.
	quiet = 5 * time.Second
	// maxEarlier is how many runs of a node are remembered before the latest.
	maxEarlier = 16
)

// derive returns a key for one purpose.
func derive(secret []byte, purpose string) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte("sluice cluster\x00" + purpose))
	return h.Sum(nil)
}

// A sealer makes the messages of one node.
type sealer struct {
	key  []byte
	from string
	run  uint64

	mu     sync.Mutex
	number uint64
}

// seal returns the message with body, borrowed, for a node, or for all when to is
// empty: code, length of the name, name, run, number, time, body.
func (s *sealer) seal(to string, body []byte, now time.Time) []byte {
	s.mu.Lock()
	s.number++
	number := s.number
	s.mu.Unlock()
	m := make([]byte, macSize, macSize+1+len(s.from)+24+len(body))
	m = append(m, byte(len(s.from)))
	m = append(m, s.from...)
	m = binary.BigEndian.AppendUint64(m, s.run)
	m = binary.BigEndian.AppendUint64(m, number)
	m = binary.BigEndian.AppendUint64(m, uint64(now.UnixMilli()))
	m = append(m, body...)
	copy(m, code(s.key, to, m[macSize:]))
	return m
}

func code(key []byte, to string, rest []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte{byte(len(to))})
	h.Write([]byte(to))
	h.Write(rest)
	return h.Sum(nil)
}

// An opener checks what comes. It remembers the numbers of each node's latest run.
type opener struct {
	keys [][]byte // a message has to be made with one of them

	mu    sync.Mutex
	nodes map[string]*seen
}

// seen are the numbers that have come from the latest run of a node: most is the largest,
// and bit i of bits says that most-i has come.
type seen struct {
	run, most, bits uint64
	at              time.Time // of the latest that was taken
	earlier         []followed
}

// followed is a run that another one has followed: its messages come no more.
type followed struct {
	run uint64
	at  time.Time // when
}

// follow reports whether a run follows the latest one, and makes it that.
func (s *seen) follow(run, number uint64, now time.Time) bool {
	s.earlier = slices.DeleteFunc(s.earlier, func(e followed) bool { return now.Sub(e.at) > 2*skew })
	silent := now.Sub(s.at)
	switch {
	case slices.ContainsFunc(s.earlier, func(e followed) bool { return e.run == run }):
		return false
	case run > s.run, silent > 2*skew:
	case silent <= quiet, len(s.earlier) == maxEarlier:
		return false
	}
	if len(s.earlier) < maxEarlier {
		s.earlier = append(s.earlier, followed{s.run, now})
	}
	s.run, s.most, s.bits = run, number, 0
	return true
}

// open checks a message that was sent to a node, or to all, and returns the sender
// and the body, which is a part of m.
func (o *opener) open(to string, m []byte, now time.Time) (from string, body []byte, err error) {
	if len(m) < macSize+1 || len(m) < macSize+1+int(m[macSize])+24 {
		return "", nil, fmt.Errorf("%w: %d bytes", ErrShort, len(m))
	}
	if !slices.ContainsFunc(o.keys, func(key []byte) bool { return hmac.Equal(m[:macSize], code(key, to, m[macSize:])) }) {
		return "", nil, ErrForged
	}
	rest := m[macSize+1:]
	from, rest = string(rest[:m[macSize]]), rest[m[macSize]:]
	run, number, sent := binary.BigEndian.Uint64(rest), binary.BigEndian.Uint64(rest[8:]), time.UnixMilli(int64(binary.BigEndian.Uint64(rest[16:])))
	if apart := now.Sub(sent).Abs(); apart > skew {
		return from, nil, fmt.Errorf("%w: from %s, %v apart", ErrOld, from, apart.Round(time.Second))
	}
	if !o.first(from, run, number, now) {
		return from, nil, fmt.Errorf("%w: number %d from %s", ErrReplay, number, from)
	}
	return from, rest[24:], nil
}

// first reports whether a number comes for the first time.
func (o *opener) first(from string, run, number uint64, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.nodes[from]
	switch {
	case s == nil:
		o.forget(now)
		s = &seen{run: run, most: number}
		o.nodes[from] = s
	case run != s.run && !s.follow(run, number, now):
		return false
	}
	switch {
	case number > s.most:
		if by := number - s.most; by < window {
			s.bits <<= by
		} else {
			s.bits = 0
		}
		s.most = number
	case s.most-number >= window:
		return false
	}
	bit := uint64(1) << (s.most - number)
	if s.bits&bit != 0 {
		return false
	}
	s.bits |= bit
	s.at = now
	return true
}

// forget drops nodes from which nothing has come for so long that every message of
// theirs is too old.
func (o *opener) forget(now time.Time) {
	for name, s := range o.nodes {
		if now.Sub(s.at) > 2*skew {
			delete(o.nodes, name)
		}
	}
}
