package transport

import (
	"bytes"
	"errors"
	"fmt"
)

const (
	// mostAnnounced is the longest message that is taken from an outside NATS, from any of its clients: its
	// usual limit is 1 MiB, the largest that it recommends 8 MiB.
	mostAnnounced = 8 << 20
	// maxInfo is the longest line with the addresses of its servers, maxLine any other.
	maxInfo, maxLine = 1 << 20, 4 << 10
)

// errProtocol: what a NATS sends is not the protocol, or more than a node takes.
var errProtocol = errors.New("transport: the NATS sends what no node takes")

// A guard follows what an outside NATS sends (docs.nats.io, reference, NATS client protocol), since the client makes room
// for a message of any length before it has come, and keeps lines of any. Where the client takes lines that
// servers do not send, and ends them elsewhere, the guard does not. The zero value is at the first byte.
type guard struct {
	line []byte // its beginning, up to maxLine
	long int    // its length by now
	left int    // bytes of a message that are to come, with tail
}

// tail is what follows the bytes of a message.
const tail = "\r\n"

// pass looks at p, which comes next, borrowed.
func (g *guard) pass(p []byte) error {
	for len(p) > 0 {
		if g.left > len(tail) {
			n := min(g.left-len(tail), len(p))
			g.left -= n
			p = p[n:]
			continue
		}
		if g.left > 0 {
			if p[0] != tail[len(tail)-g.left] {
				return fmt.Errorf("%w: a message without its end", errProtocol)
			}
			g.left--
			p = p[1:]
			continue
		}
		n := bytes.IndexByte(p, '\n') + 1
		whole := n > 0
		if !whole {
			n = len(p)
		}
		g.long += n
		g.line = append(g.line, p[:min(n, maxLine-len(g.line))]...)
		p = p[n:]
		if most := g.most(); g.long > most {
			return fmt.Errorf("%w: a line of more than %d bytes", errProtocol, most)
		}
		if whole {
			if err := g.end(); err != nil {
				return err
			}
			g.line, g.long = g.line[:0], 0
		}
	}
	return nil
}

func (g *guard) most() int {
	if g.line[0] == 'I' || g.line[0] == 'i' {
		return maxInfo
	}
	return maxLine
}

// end takes a whole line, of which g.line is the beginning.
func (g *guard) end() error {
	n := bytes.IndexAny(g.line, " \t\r\n")
	if n < 0 {
		n = len(g.line)
	}
	op, rest := bytes.ToUpper(g.line[:n]), bytes.TrimLeft(g.line[n:], " \t")
	switch string(op) {
	case "PING", "PONG", "+OK":
		if string(rest) == tail {
			return nil
		}
	case "INFO", "-ERR":
		if len(rest) > 0 && rest[0] != '\r' && rest[0] != '\n' {
			return nil
		}
	case "MSG", "HMSG":
		args, ok := bytes.CutSuffix(rest, []byte(tail))
		fields := bytes.FieldsFunc(args, func(r rune) bool { return r == ' ' || r == '\t' })
		more := len(op) - len("MSG") // the length of the header
		if !ok || bytes.ContainsAny(args, "\r\n") || len(fields) < 3+more || len(fields) > 4+more {
			break
		}
		size, err := announced(fields[len(fields)-1])
		g.left = size + len(tail)
		return err
	}
	return fmt.Errorf("%w: %.40q", errProtocol, g.line)
}

// announced reads the length of a message.
func announced(p []byte) (size int, err error) {
	for _, c := range p {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("%w: a message of %.20q bytes", errProtocol, p)
		}
		if size = 10*size + int(c-'0'); size > mostAnnounced {
			return 0, fmt.Errorf("%w: a message of %.20s bytes, the limit is %d", errProtocol, p, mostAnnounced)
		}
	}
	return size, nil
}
