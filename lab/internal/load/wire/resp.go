package wire

import (
	"fmt"
	"strconv"
)

type resp struct {
	line   pieces
	left   int   // bytes of a bulk string and its end that are still to come
	values int64 // that are still to come, besides the one under way
	failed bool
	total  int // payload bytes of the reply
}

// mostBulk bounds one string, as in Redis.
const mostBulk = 512 << 20

func (r *resp) read(p []byte) (n int, o Outcome, err error) {
	for n < len(p) {
		if r.left > 0 {
			k := min(r.left, len(p)-n)
			n += k
			if r.left -= k; r.left > 0 {
				return n, Outcome{}, nil
			}
		} else {
			line, used, err := r.line.until(p[n:], "\n")
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
		if r.values--; r.values < 0 {
			o = Outcome{Done: true, Payload: r.total}
			if r.failed {
				o.Class = 1
			}
			r.values, r.failed, r.total = 0, false, 0
			return n, o, nil
		}
	}
	return n, Outcome{}, nil
}

// value reads the line that a value begins with.
func (r *resp) value(line []byte) error {
	if len(line) < 2 || line[len(line)-1] != '\r' {
		return fmt.Errorf("%w: %.40q is no line of Redis", ErrReply, line)
	}
	kind, text := line[0], line[1:len(line)-1]
	number := func(most int64) (int64, error) {
		n, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil || n < -1 || n > most {
			return 0, fmt.Errorf("%w: the length %.40q", ErrReply, line)
		}
		return max(n, -1), nil
	}
	switch kind {
	case '+', ':', ',', '#', '(', '_':
		r.total += len(text)
	case '-':
		r.failed = true
	case '$', '=', '!':
		n, err := number(mostBulk)
		if err != nil {
			return err
		}
		r.failed = r.failed || kind == '!'
		if n >= 0 {
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
	default:
		return fmt.Errorf("%w: %.40q begins no value of Redis", ErrReply, line)
	}
	return nil
}
