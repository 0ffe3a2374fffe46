package evidence

import (
	"regexp"
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

var (
	texts  = regexp.MustCompile(`"(\\.|[^"\\])*"`)
	iovLen = regexp.MustCompile(`iov_len=(\d+)`)
	nested = regexp.MustCompile(`[\[{(][^\[{()}\]]*[\]})]`)
)

// iovecBytes adds up the lengths of a vector; -1 where it is cut short, as "[{...}, {...}, ...]": the
// sum would not be the truth.
func iovecBytes(args string) int64 {
	args = texts.ReplaceAllString(args, "")
	found := iovLen.FindAllStringSubmatch(args, -1)
	if len(found) == 0 || strings.Contains(args, "}, ...]") {
		return -1
	}
	var sum int64
	for _, f := range found {
		if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
			sum = plus(sum, n)
		}
	}
	return sum
}

// argument finds the nth of the arguments, which commas part outside of quotes
// and brackets.
func argument(args string, n int) (string, bool) {
	if strings.ContainsRune(args, '"') {
		args = texts.ReplaceAllString(args, "_")
	}
	for range 4 { // as deep as structures of calls that move bytes are
		if !strings.ContainsAny(args, "[{(") {
			break
		}
		args = nested.ReplaceAllString(args, "_")
	}
	list := strings.Split(args, ",")
	if n >= len(list) {
		return "", false
	}
	return strings.TrimSpace(list[n]), true
}
