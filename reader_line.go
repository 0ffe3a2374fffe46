package sluice

import (
	"bytes"
	"io"
)

// ReadSlice returns the bytes up to and including the first delim, borrowed
// until the next call on the reader. As with bufio, when the stream ends or
// fails before a delim it returns, and consumes, what there is, with the
// reason (io.EOF at the end). A deadline, a context that ended, ErrShort and
// mem.ErrBudget consume nothing. More
// than Options.Frame bytes without delim are ErrTooLong, and stay.
func (b *BufReader) ReadSlice(delim byte) ([]byte, error) {
	n, err := b.find("ReadSlice", delim, b.limits().frame)
	if err != nil && !b.lasting(err) {
		return nil, err
	}
	return b.take(n), err
}

// find returns the length of what goes up to and including delim, at most
// limit bytes, bringing it into the window. With an error it is the length of
// the window.
func (b *BufReader) find(op string, delim byte, limit int) (int, error) {
	for from := b.searched(delim); ; {
		p := b.View()
		if len(p) > limit {
			p = p[:limit]
		}
		from = min(from, len(p))
		if i := bytes.IndexByte(p[from:], delim); i >= 0 {
			return from + i + 1, nil
		}
		if len(p) == limit {
			return len(p), &Error{op: op, limit: int64(limit), got: int64(b.Buffered()), Err: ErrTooLong}
		}
		from = len(p)
		if err := b.wantLine(min(from+b.ahead(delim), limit)); err != nil {
			b.noDelim(from, delim)
			return len(b.View()), err
		}
	}
}

// ahead returns how many more bytes to bring into the window in search of
// delim: one, unless more has come already in blocks of its own.
func (b *BufReader) ahead(delim byte) int {
	if b.win.Queued() == 0 || len(b.View()) == 0 && !b.win.Marked() {
		return 1
	}
	p := b.win.NextPiece()
	if i := bytes.IndexByte(p, delim); i >= 0 {
		return i + 1
	}
	return len(p)
}

// ReadLineSlice returns the next line without its end, which is LF or CR LF,
// borrowed until the next call on the reader. A line of more than Options.Line
// bytes, its end counted, is ErrTooLong and stays unread. When the stream ends
// inside a line the rest is returned, and consumed, with
// io.ErrUnexpectedEOF; a deadline or ErrShort consumes nothing.
func (b *BufReader) ReadLineSlice() ([]byte, error) { return b.line("ReadLineSlice") }

// ReadLine is ReadLineSlice that copies the line into a string.
func (b *BufReader) ReadLine() (string, error) {
	p, err := b.line("ReadLine")
	return string(p), err
}

func (b *BufReader) line(op string) ([]byte, error) {
	n, err := b.find(op, '\n', b.limits().line)
	if err != nil {
		if err == io.EOF && n > 0 {
			return b.take(n), &Error{op: op, got: int64(n), Err: io.ErrUnexpectedEOF}
		}
		return nil, err
	}
	p := b.take(n)
	n--
	if n > 0 && p[n-1] == '\r' {
		n--
	}
	return p[:n:n], nil
}
