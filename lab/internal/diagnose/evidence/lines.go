package evidence

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// ErrTooLarge means that what a tool wrote is beyond what is read of it.
var ErrTooLarge = errors.New("larger than is read")

// mostLine is the longest line that is looked at, in bytes: of a longer one an empty one stands.
const mostLine = 64 << 10

// eachLine calls f with each whole line of what a tool wrote, up to limit bytes of it. cut says that the last
// line has no end and was left out. The error is ErrTooLarge beyond the limit, or the reader's.
func eachLine(r io.Reader, tool string, limit int64, f func(line string)) (cut bool, err error) {
	limited := &io.LimitedReader{R: r, N: limit}
	in := bufio.NewReaderSize(limited, mostLine)
	for {
		line, err := in.ReadSlice('\n')
		text, long := string(line), errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		switch {
		case err == nil && long:
			f("")
		case err == nil:
			f(text[:len(text)-1])
		case limited.N == 0:
			return true, fmt.Errorf("%s wrote more than %d MiB: %w", tool, limit>>20, ErrTooLarge)
		case errors.Is(err, io.EOF):
			return text != "", nil
		default:
			return true, fmt.Errorf("reading the output of %s: %w", tool, err)
		}
	}
}

func atMost(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("more than %d MiB: %w", limit>>20, ErrTooLarge)
	}
	return data, nil
}

// guarded calls the parser of a package that is not ours. What it does on
// hostile input is not ours to promise, so that a panic in it becomes an error.
func guarded(what string, parse func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the %s cannot be parsed: %v", what, r)
		}
	}()
	return parse()
}
