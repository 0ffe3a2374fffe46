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
	head  pieces // what has come of an unfinished head or chunk line
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
	delimiter := "\r\n"
	switch h.state {
	case inBody, inChunk:
		n = int(min(int64(len(p)), h.left))
		h.reply.Payload += n
		if h.left -= int64(n); h.left == 0 && h.state == inBody {
			h.state = replied
		} else if h.left == 0 {
			h.state = inChunkEnd
		}
		return n, nil
	case untilEnd:
		h.reply.Payload += len(p)
		return len(p), nil
	case inHead:
		delimiter = "\r\n\r\n"
	}
	line, n, err := h.head.until(p, delimiter)
	if line == nil {
		return n, err
	}
	switch h.state {
	case inHead:
		err = h.parse(line)
	case inChunkLen:
		err = h.chunk(line)
	case inChunkEnd:
		if h.state = inChunkLen; len(line) > 0 {
			err = fmt.Errorf("%w: a chunk is longer than it says", ErrReply)
		}
	case inTrailer:
		if len(line) == 0 {
			h.state = replied
		}
	}
	return n, err
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
