package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// Own is a protocol of one's own: the bytes of a request, and how replies end.
type Own struct {
	Request []byte `json:"request,omitempty"`
	// RequestDigest stands in results instead of the Request.
	RequestDigest *Digest `json:"request_digest,omitempty"`
	// Reply is fixed:N, that many bytes; delimiter:TEXT, up to this text, in which
	// \r, \n, \t, \0, \xNN and \\ stand for bytes; or length:N, N bytes (1, 2, 4 or 8) of
	// length, big-endian or, as length:Nle, little-endian, and so many bytes.
	Reply string `json:"reply"`
}

const mostReply = 1 << 30

type own struct {
	closed
	same
	fixed     int
	delimiter []byte
	length    int // bytes of it
	order     binary.ByteOrder

	head []byte // the bytes of a length, or the last ones before a delimiter
	left int    // bytes that are still to come, when that is known
	got  int
}

func newOwn(o *Own) (*own, error) {
	if len(o.Request) == 0 {
		return nil, fmt.Errorf("an empty request")
	}
	p := &own{same: o.Request}
	kind, value, _ := strings.Cut(o.Reply, ":")
	bad := fmt.Errorf("invalid end of a reply %q: it is fixed:N, delimiter:TEXT, length:N or length:Nle", o.Reply)
	var err error
	switch kind {
	case "fixed":
		if p.fixed, err = strconv.Atoi(value); err != nil || p.fixed < 1 || p.fixed > mostReply {
			return nil, bad
		}
		p.left = p.fixed
	case "delimiter":
		// With a quote of its own for those that the text has.
		text, err := strconv.Unquote(`"` + strings.ReplaceAll(strings.ReplaceAll(value, `"`, `\"`), `\0`, `\x00`) + `"`)
		if err != nil || text == "" {
			return nil, bad
		}
		p.delimiter = []byte(text)
	case "length":
		p.order = binary.BigEndian
		number, little := strings.CutSuffix(value, "le")
		if little {
			p.order = binary.LittleEndian
		}
		p.length, err = strconv.Atoi(number)
		if err != nil || p.length != 1 && p.length != 2 && p.length != 4 && p.length != 8 {
			return nil, bad
		}
	default:
		return nil, bad
	}
	return p, nil
}

func (o *own) Reply(_ *Request, p []byte) (n int, out Outcome, err error) {
	switch {
	case o.delimiter != nil:
		return o.delimited(p)
	case o.length > 0 && len(o.head) < o.length:
		n = min(len(p), o.length-len(o.head))
		if o.head = append(o.head, p[:n]...); len(o.head) < o.length {
			return n, Outcome{}, nil
		}
		var wide [8]byte
		if o.order == binary.BigEndian {
			copy(wide[8-o.length:], o.head)
		} else {
			copy(wide[:], o.head)
		}
		size := o.order.Uint64(wide[:])
		if size > mostReply {
			return n, Outcome{}, fmt.Errorf("%w: a length of %d bytes", ErrReply, size)
		}
		o.left = int(size)
	}
	k := min(o.left, len(p)-n)
	n, o.got = n+k, o.got+k
	if o.left -= k; o.left > 0 {
		return n, Outcome{}, nil
	}
	return n, o.finish(), nil
}

func (o *own) delimited(p []byte) (n int, out Outcome, err error) {
	keep, had := len(o.delimiter)-1, len(o.head)
	// It may have begun in what came before.
	joined := append(o.head, p[:min(len(p), keep)]...)
	if at := bytes.Index(joined, o.delimiter); at >= 0 {
		n = at + len(o.delimiter) - had
	} else if at := bytes.Index(p, o.delimiter); at >= 0 {
		n = at + len(o.delimiter)
	}
	if n > 0 {
		o.got += n
		return n, o.finish(), nil
	}
	if o.got += len(p); o.got > mostReply {
		return 0, Outcome{}, fmt.Errorf("%w: no delimiter in %d bytes", ErrReply, o.got)
	}
	if len(p) >= keep {
		joined = append(joined[:0], p[len(p)-keep:]...)
	}
	o.head = append(o.head[:0], joined[max(0, len(joined)-keep):]...)
	return len(p), Outcome{}, nil
}

func (o *own) finish() Outcome {
	out := Outcome{Done: true, Payload: o.got}
	o.head, o.left, o.got = o.head[:0], o.fixed, 0
	return out
}
