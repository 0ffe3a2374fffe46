package relay

import (
	"errors"
	"fmt"
)

// A splitter finds where messages begin and end in what a connection brings.
// It is fed bytes as they come, borrowed for the call.
type splitter interface {
	feed(p []byte, to sink) error
}

// A sink receives what a splitter finds.
type sink interface {
	// started is called with the head of a message of media: the first two bytes
	// of its payload, whose length is size.
	started(kind uint8, time uint32, size int, first, second byte) error
	// ended is called when the last byte of a message of media was fed.
	ended() error
	// passed is called with the payload of media, in order, if the splitter is set
	// to pass it on.
	passed(p []byte) error
	// noted is called with each whole message that is not media.
	noted(kind uint8, payload []byte) error
}

// ErrStream is the error of bytes that are no stream of the protocol.
var ErrStream = errors.New("relay: not the protocol")

// A stash holds the beginning of a header that the end of what was read has cut,
// until the rest comes.
type stash struct {
	held [48]byte // longer than the longest header
	n    int
}

// parser parses a header at the beginning of p, and returns its length, or 0 if
// p is too short. With one byte more it must not return less than len(p).
type parser func(p []byte) (int, error)

// take has head parse a header at the beginning of p, and returns how much of p
// belongs to it, and whether that was all of it.
func (s *stash) take(p []byte, head parser) (used int, whole bool, err error) {
	if s.n == 0 {
		n, err := head(p)
		if n > 0 || err != nil {
			return n, true, err
		}
	}
	had := s.n
	room := copy(s.held[had:], p)
	n := 0
	if had > 0 {
		if n, err = head(s.held[:had+room]); err != nil {
			return 0, false, err
		}
	}
	if n == 0 {
		if room < len(p) {
			return 0, false, fmt.Errorf("%w: a header longer than %d bytes", ErrStream, len(s.held))
		}
		s.n += room
		return room, false, nil
	}
	s.n = 0
	return n - had, true, nil
}

// isMedia reports whether messages of a kind carry media.
func isMedia(kind uint8) bool { return kind == kindAudio || kind == kindVideo }

// mostNoted is the longest message that is held whole: what a metadata message
// may have, and more than any command.
const mostNoted = 64 << 10
