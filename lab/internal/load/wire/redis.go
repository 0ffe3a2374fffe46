package wire

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

const (
	randPlace = "{rand}" // a number of randLen digits below Redis.Keys
	dataPlace = "{data}" // the payload, as long as the sizes say
	randLen   = 12
)

// Redis says what the requests to redis targets are.
type Redis struct {
	Commands []string `json:"commands,omitempty"` // in this order again and again; PING without any
	Keys     int      `json:"keys,omitempty"`     // numbers that {rand} is drawn from; 0 for 100,000
}

var redisClasses = []Class{{"ok", false}, {"error", true}}

// A redis is the protocol of Redis, versions 2 and 3:
// https://redis.io/docs/latest/develop/reference/protocol-spec/
type redis struct {
	closed
	commands []command
	content  *Content
	keys     uint64
	resp     resp
}

type command struct {
	args  []string // with places for the payload
	bytes []byte   // the request; without a payload only the numbers change
	rands []int    // where in bytes those are
	data  bool     // it has a payload: bytes are of the request seq
	seq   uint64
}

func (r *Redis) split() ([][]string, error) {
	texts := r.Commands
	if len(texts) == 0 {
		texts = []string{"PING"}
	}
	var list [][]string
	for _, text := range texts {
		args := strings.Fields(text)
		if len(args) == 0 {
			return nil, errors.New("an empty command")
		}
		switch strings.ToUpper(args[0]) {
		case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE", "MONITOR", "QUIT", "SYNC", "PSYNC":
			return nil, fmt.Errorf("command %s has not one reply for each request", args[0])
		}
		list = append(list, args)
	}
	return list, nil
}

func newRedis(options *Redis, content *Content) (*redis, error) {
	list, err := options.split()
	if err != nil {
		return nil, err
	}
	r := &redis{content: content, keys: uint64(cmp.Or(options.Keys, 100_000))}
	for _, args := range list {
		c := command{args: args, data: strings.Contains(strings.Join(args, " "), dataPlace)}
		if !c.data {
			c.build(&Request{}, content)
		}
		r.commands = append(r.commands, c)
	}
	return r, nil
}

// build makes the request q, but for its numbers.
func (c *command) build(q *Request, content *Content) {
	b := append(c.bytes[:0], '*')
	b = strconv.AppendInt(b, int64(len(c.args)), 10)
	b = append(b, "\r\n"...)
	c.rands = c.rands[:0]
	for _, arg := range c.args {
		length := len(arg) + strings.Count(arg, dataPlace)*(q.Size-len(dataPlace)) + strings.Count(arg, randPlace)*(randLen-len(randPlace))
		b = append(b, '$')
		b = strconv.AppendInt(b, int64(length), 10)
		b = append(b, "\r\n"...)
		for rest := arg; rest != ""; {
			literal := rest
			if at := strings.IndexByte(rest, '{'); at >= 0 {
				literal = rest[:max(1, at)]
			}
			switch {
			case strings.HasPrefix(rest, randPlace):
				c.rands = append(c.rands, len(b))
				b = append(b, make([]byte, randLen)...)
				literal = randPlace
			case strings.HasPrefix(rest, dataPlace):
				b = content.Append(b, q)
				literal = dataPlace
			default:
				b = append(b, literal...)
			}
			rest = rest[len(literal):]
		}
		b = append(b, "\r\n"...)
	}
	c.bytes, c.seq = b, q.Seq
}

// request returns the bytes of a request, borrowed until the next call.
func (r *redis) request(q *Request) []byte {
	c := &r.commands[q.Seq%uint64(len(r.commands))]
	if c.data && (len(c.bytes) == 0 || c.seq != q.Seq) {
		c.build(q, r.content)
	}
	for i, at := range c.rands {
		// The same numbers for the same request, however often it is asked for.
		n := scatter(q, i) % r.keys
		for j := at + randLen - 1; j >= at; j-- {
			c.bytes[j] = byte('0' + n%10)
			n /= 10
		}
	}
	return c.bytes
}

// scatter is an unrelated number for each request and i.
func scatter(q *Request, i int) uint64 {
	return rand.NewPCG(uint64(q.Conn)<<32|uint64(i), q.Seq).Uint64()
}

func (r *redis) Len(q *Request) int               { return len(r.request(q)) }
func (r *redis) Bytes(q *Request, off int) []byte { return r.request(q)[off:] }

func (r *redis) Reply(_ *Request, p []byte) (n int, o Outcome, err error) {
	for n < len(p) && !o.Done && err == nil {
		used := 0
		used, o, err = r.resp.read(p[n:])
		n += used
	}
	return n, o, err
}

// Pushed reads a push message, as of keys that have changed (CLIENT TRACKING).
func (r *redis) Pushed(p []byte) (n int, err error) {
	begins := p
	if len(r.resp.line) > 0 {
		begins = r.resp.line
	}
	if !r.resp.push && begins[0] != '>' {
		return 0, nil
	}
	n, _, err = r.resp.read(p)
	return n, err
}

type resp struct {
	line   pieces
	left   int     // bytes of a bulk string and its end that are still to come
	values int64   // that are still to come, besides the one under way
	open   []int64 // what values was before each array under way of unknown length; -1 between its elements
	parts  bool    // a string under way comes in parts
	failed bool
	says   string // the first error
	saying bool   // the bulk string under way is that error
	total  int    // payload bytes of the reply
	push   bool   // it is a push message, which is no reply
}

const (
	mostBulk = 512 << 20
	mostOpen = 128 // arrays within arrays
)

func (r *resp) read(p []byte) (n int, o Outcome, err error) {
	for n < len(p) {
		if r.left > 0 {
			k := min(r.left, len(p)-n)
			if r.saying && len(r.says) < mostLine {
				r.says += string(p[n : n+k])
			}
			n += k
			if r.left -= k; r.left > 0 {
				return n, Outcome{}, nil
			}
			if r.saying {
				r.says, r.saying = strings.TrimSpace(r.says), false
			}
		} else {
			line, used, err := r.line.read(p[n:])
			if n += used; line == nil {
				return n, Outcome{}, err
			}
			if err := r.value(line); err != nil {
				return n, Outcome{}, err
			}
			if r.left > 0 {
				continue
			}
		}
		if r.values--; r.values < 0 && len(r.open) == 0 {
			o = Outcome{Done: !r.push, Payload: r.total}
			if r.failed {
				o.Class, o.Says = 1, r.says
			}
			r.values, r.failed, r.total, r.push = 0, false, 0, false
			return n, o, nil
		}
	}
	return n, Outcome{}, nil
}

func (r *resp) value(line []byte) error {
	if len(line) < 2 || line[len(line)-1] != '\r' {
		return fmt.Errorf("%w: %.40q is no line of Redis", ErrReply, line)
	}
	line = line[:len(line)-1]
	kind, text := line[0], line[1:]
	number := func(most int64) (int64, error) {
		n, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil || n < -1 || n > most || kind == ';' && n < 0 {
			return 0, fmt.Errorf("%w: the length %.40q", ErrReply, line)
		}
		return n, nil
	}
	unknown, last := string(text) == "?", len(r.open)-1
	if kind == '.' && len(text) == 0 && last >= 0 && r.values < 0 {
		r.open, r.values = r.open[:last], r.open[last]
		return nil
	}
	r.values = max(r.values, 0)
	switch {
	case r.parts != (kind == ';'):
		kind = 0
	case unknown && kind == '$':
		r.parts, r.values = true, r.values+1
		return nil
	case unknown && strings.IndexByte("*~>%", kind) >= 0 && last+1 < mostOpen:
		r.open, r.values = append(r.open, r.values), 0
		r.push = r.push || kind == '>'
		return nil
	}
	switch kind {
	case '+', ':', ',', '#', '(', '_':
		r.total += len(text)
	case '-':
		if r.failed = true; r.says == "" {
			r.says = string(text)
		}
	case '$', '=', '!', ';':
		n, err := number(mostBulk)
		if err != nil {
			return err
		}
		if kind == '!' {
			r.failed, r.saying = true, r.says == ""
		}
		if r.parts = r.parts && n > 0; r.parts {
			r.values++
		}
		if n >= 0 && (kind != ';' || n > 0) {
			r.left = int(n) + 2
			r.total += int(n)
		}
	case '*', '~', '>', '%', '|':
		n, err := number(1 << 31)
		if err != nil {
			return err
		}
		if n = max(n, 0); kind == '%' || kind == '|' {
			n *= 2
		}
		if r.values += n; kind == '|' {
			r.values++ // attributes stand before the value itself
		}
		r.push = r.push || kind == '>' // never inside of a reply
	default:
		return fmt.Errorf("%w: %.40q begins no value of Redis", ErrReply, line)
	}
	return nil
}
