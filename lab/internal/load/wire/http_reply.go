package wire

import (
	"bytes"
	"fmt"
	"strconv"
)

// An http1 is HTTP/1.1: see RFC 9112.
type http1 struct {
	same
	bare bool // replies have no body: the method is HEAD

	state httpState
	head  []byte // what has come of an unfinished head or chunk line
	left  int64  // of the body or chunk
	reply Outcome
}

type httpState uint8

const (
	inHead     httpState = iota
	inBody               // of a known length
	untilEnd             // a body that ends with the connection
	inChunkLen           // a line
	inChunk
	inChunkEnd // the empty line after a chunk
	inTrailer
	replied
)

// mostHead bounds the head of a reply, and each line of a chunked body.
const mostHead = 64 << 10

func (h *http1) Reply(_ *Request, p []byte) (n int, o Outcome, err error) {
	for n < len(p) && h.state != replied {
		used, err := h.step(p[n:])
		if n += used; err != nil {
			return n, Outcome{}, err
		}
	}
	if h.state != replied {
		return n, Outcome{}, nil
	}
	return n, h.finish(), nil
}

func (h *http1) End(*Request) Outcome {
	if h.state != untilEnd {
		return Outcome{}
	}
	return h.finish()
}

func (h *http1) finish() Outcome {
	o := h.reply
	o.Done = true
	h.state, h.reply = inHead, Outcome{}
	return o
}

// step reads what is next and returns how many bytes it has.
func (h *http1) step(p []byte) (n int, err error) {
	switch h.state {
	case inHead:
		return h.until(p, "\r\n\r\n", h.parse)
	case inBody, inChunk:
		n = int(min(int64(len(p)), h.left))
		h.reply.Payload += n
		if h.left -= int64(n); h.left == 0 {
			h.state++ // of inBody untilEnd, which is corrected here
			if h.state == untilEnd {
				h.state = replied
			}
		}
		return n, nil
	case untilEnd:
		h.reply.Payload += len(p)
		return len(p), nil
	case inChunkLen:
		return h.until(p, "\r\n", h.chunk)
	case inChunkEnd:
		return h.until(p, "\r\n", func(line []byte) error {
			if h.state = inChunkLen; len(line) > 0 {
				return fmt.Errorf("%w: a chunk is longer than it says", ErrReply)
			}
			return nil
		})
	default: // inTrailer
		return h.until(p, "\r\n", func(line []byte) error {
			if len(line) == 0 {
				h.state = replied
			}
			return nil
		})
	}
}

// until calls f with the bytes up to a delimiter, in whatever pieces they come, and
// returns how many bytes of p belong to them and to the delimiter.
func (h *http1) until(p []byte, delimiter string, f func(line []byte) error) (int, error) {
	had := len(h.head)
	line := p
	if had > 0 {
		h.head = append(h.head, p...)
		line = h.head
	}
	from := max(0, had-len(delimiter)+1)
	at := bytes.Index(line[from:], []byte(delimiter))
	switch {
	case at < 0 && len(line) > mostHead:
		return 0, fmt.Errorf("%w: a head of more than %d bytes", ErrReply, mostHead)
	case at < 0 && had == 0:
		h.head = append(h.head, p...)
		return len(p), nil
	case at < 0:
		return len(p), nil
	}
	at += from
	err := f(line[:at])
	h.head = h.head[:0]
	return at + len(delimiter) - had, err
}

// chunk reads the line before a chunk: its length in hexadecimal, and extensions.
func (h *http1) chunk(line []byte) error {
	digits, _, _ := bytes.Cut(line, []byte(";"))
	n, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 62)
	if err != nil {
		return fmt.Errorf("%w: %.40q is not the length of a chunk", ErrReply, line)
	}
	if h.left, h.state = int64(n), inChunk; n == 0 {
		h.state = inTrailer
	}
	return nil
}
