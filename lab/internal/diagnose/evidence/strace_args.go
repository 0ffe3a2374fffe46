package evidence

import (
	"strconv"
	"strings"
)

// counts is the index, from 0, of the argument with the number of bytes to move.
var counts = map[string]int{
	"read": 2, "write": 2, "pread64": 2, "pwrite64": 2,
	"recvfrom": 2, "sendto": 2, "recv": 2, "send": 2,
	"sendfile": 3, "sendfile64": 3, "splice": 4, "tee": 2, "copy_file_range": 4,
}

// vectors are the calls that move what their iovecs say.
var vectors = map[string]bool{
	"readv": true, "writev": true, "preadv": true, "pwritev": true, "preadv2": true, "pwritev2": true,
	"sendmsg": true, "recvmsg": true, "vmsplice": true,
}

// askedOf returns how many bytes a call was asked to move, from its arguments as
// strace writes them; -1 when it moves none, or the arguments do not show it.
func askedOf(name, args string) int64 {
	if vectors[name] {
		return iovecBytes(args)
	}
	n, ok := counts[name]
	if !ok {
		return -1
	}
	arg, ok := argument(args, n)
	if !ok {
		return -1
	}
	bytes, err := strconv.ParseInt(arg, 0, 64)
	if err != nil || bytes < 0 {
		return -1
	}
	return bytes
}

// iovecBytes adds up every "iov_len=N" outside of quotes.
func iovecBytes(args string) int64 {
	const key = "iov_len="
	sum, found := int64(0), false
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == '"':
			i = quoted(args, i)
		case strings.HasPrefix(args[i:], key):
			i += len(key)
			end := i
			for end < len(args) && args[end] >= '0' && args[end] <= '9' {
				end++
			}
			if n, err := strconv.ParseInt(args[i:end], 10, 64); err == nil {
				sum, found = plus(sum, n), true
			}
			i = end - 1
		}
	}
	// A long vector is written "[{...}, {...}, ...]": the sum would not be the truth.
	if !found || strings.Contains(args, "}, ...]") {
		return -1
	}
	return sum
}

// argument finds the nth of the arguments, which commas part outside of quotes
// and brackets.
func argument(args string, n int) (string, bool) {
	depth, start := 0, 0
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case '"':
			i = quoted(args, i)
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth != 0 {
				continue
			}
			if n == 0 {
				return strings.TrimSpace(args[start:i]), true
			}
			n--
			start = i + 1
		}
	}
	if n != 0 || start > len(args) {
		return "", false
	}
	return strings.TrimSpace(args[start:]), true
}

// quoted returns the place of the quote that ends the one at i, or the end.
func quoted(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(s)
}
