package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
)

// errFraming is an error in the framing of a chunked body.
var errFraming = errors.New("bad chunked body")

const (
	maxChunkLine = 1 << 10 // bytes of the line before a chunk, extensions included
	maxTrailers  = 64      // lines behind the last chunk
)

// A body is FLV in the body of a request. It reads off the connection into
// counted memory: a tag that lies in one chunk is handed on where it was
// received, and one that the edge of a chunk cuts is copied together.
type body struct {
	raw      *sluice.BufReader // the connection
	watchdog *session.Watchdog
	chunked  bool
	left     int64 // bytes of this chunk, or of the body, that are not fed yet
	inChunk  bool  // the line end behind the chunk has not been read
	over     bool

	fed   *sluice.BufReader // the body's bytes
	tags  *flv.Decoder
	begun bool                   // the header of the file has been read
	edge  int64                  // how many of the body's bytes there are up to where a tag begins, the last that is known
	head  [flv.TagHeaderLen]byte // of that tag, as far as it was fed by itself
	heads int                    // so many bytes
}

// newBody reads a body from raw: chunked (RFC 9112, section 7.1) when length is
// negative, of tags with payloads of at most maxTag bytes. close gives the
// memory back.
func newBody(raw *sluice.BufReader, p *session.Watchdog, length int64, maxTag int) *body {
	raw.SetLimits(sluice.Options{Line: maxChunkLine})
	b := &body{raw: raw, watchdog: p, chunked: length < 0, left: max(length, 0), fed: sluice.NewBufReaderFed()}
	b.tags = flv.NewDecoder(b.fed)
	b.tags.MaxTag = maxTag
	return b
}

func (b *body) close() {
	b.fed.Recycle()
	b.raw.Recycle()
}

// next returns the next tag, retained. io.EOF is the end of a body that ends
// where a tag ends.
func (b *body) next() (flv.Tag, error) {
	for {
		tag, err := b.parse()
		if !errors.Is(err, sluice.ErrShort) {
			return tag, err
		}
		if err := b.feed(); err != nil {
			return flv.Tag{}, err
		}
	}
}

func (b *body) parse() (flv.Tag, error) {
	if !b.begun {
		if _, err := b.tags.ReadHeader(); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF // not even a header
			}
			return flv.Tag{}, err
		}
		b.begun = true
		b.edge = b.tags.Offset() + flv.PrevTagSizeLen
	}
	return b.tags.Next()
}

// feed waits for more of the body and gives it to the parser, or tells it that
// there is no more.
func (b *body) feed() error {
	if b.left == 0 && !b.over {
		if err := b.nextChunk(); err != nil {
			return err
		}
	}
	if b.over {
		b.fed.FeedEnd(io.EOF)
		return nil
	}
	n, whole, err := b.piece()
	if err != nil {
		return err
	}
	if !whole && n < copyBelow {
		p, err := b.raw.Next(n)
		if err != nil {
			return err
		}
		b.left -= int64(n)
		return b.fed.FeedCopy(p)
	}
	buf, err := b.raw.ReadBuf(n)
	if err != nil {
		return err
	}
	b.left -= int64(n)
	return b.fed.FeedBuf(buf)
}

// copyBelow is the size in bytes under which a part of a tag is copied at once.
// It will be in any case, and a queue of single bytes would need many times
// their memory.
const copyBelow = 4 << 10

// piece waits until something is there that is worth to be fed, and returns how
// many bytes, and whether they are whole tags.
func (b *body) piece() (n int, whole bool, err error) {
	for more := 1; ; {
		if err := b.await(more); err != nil {
			return 0, false, err
		}
		view := b.raw.View()
		if int64(len(view)) > b.left {
			view = view[:b.left]
		}
		if !b.begun {
			// No more than the file's header, so that it is known where the
			// first tag begins. Its own length is hardly ever another.
			lacks := max(flv.HeaderLen-int(b.fed.TotalRead()), 1)
			return min(len(view), lacks), false, nil
		}
		if lacks := b.lacks(); lacks > 0 {
			return b.part(view[:min(len(view), lacks)]), false, nil
		}
		end, next := wholeTags(view)
		if end > 0 {
			b.edge += int64(end)
			return min(end, len(view)), true, nil
		}
		if next == 0 || int64(next) > b.left || next > b.tags.MaxTag {
			return b.part(view), false, nil
		}
		more = next
	}
}

// lacks returns how many bytes the parser lacks up to where a tag ends, or up to
// where that can be told; 0 where a tag begins.
func (b *body) lacks() int {
	if n := b.edge - b.fed.TotalRead(); n > 0 {
		return int(n)
	}
	if b.heads > 0 {
		return flv.TagHeaderLen - b.heads
	}
	return 0
}

// part takes note of a part of a tag, borrowed, that is about to be fed, and
// returns its length.
func (b *body) part(p []byte) int {
	if b.fed.TotalRead() < b.edge {
		return len(p)
	}
	b.heads += copy(b.head[b.heads:], p)
	if b.heads == len(b.head) {
		b.edge += int64(tagLen(b.head[:]))
		b.heads = 0
	}
	return len(p)
}

// wholeTags looks for whole tags in p, which begins where a tag begins. It
// returns where the last of them ends, which may be a little behind p: some
// senders write the size after a tag together with the next one, and the tag
// does not wait for it. next is how much of p it takes for the first tag to be
// whole, 0 when that cannot be told.
func wholeTags(p []byte) (end, next int) {
	for end < len(p) {
		rest := p[end:]
		if len(rest) < flv.TagHeaderLen {
			return end, 0
		}
		n := tagLen(rest)
		if next = n - flv.PrevTagSizeLen; next > len(rest) {
			return end, next
		}
		end += n
	}
	return end, 0
}

// tagLen is the length of a tag in bytes, with its header and the size behind it.
func tagLen(head []byte) int {
	return flv.TagHeaderLen + (int(head[1])<<16 | int(head[2])<<8 | int(head[3])) + flv.PrevTagSizeLen
}

// await waits until n bytes can be viewed.
func (b *body) await(n int) error {
	for {
		_, err := b.raw.Peek(n)
		if err == nil {
			return nil
		}
		if err := b.excuse(err); err != nil {
			return err
		}
	}
}

// line reads a line, borrowed.
func (b *body) line() ([]byte, error) {
	for {
		line, err := b.raw.ReadLineSlice()
		if err == nil {
			return line, nil
		}
		if errors.Is(err, sluice.ErrTooLong) {
			return nil, fmt.Errorf("%w: a line of more than %d bytes", errFraming, maxChunkLine)
		}
		if err := b.excuse(err); err != nil {
			return nil, err
		}
	}
}

// excuse returns nil when the read that failed with err is to be repeated.
func (b *body) excuse(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return b.watchdog.Check(b.raw.TotalRead())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		// The connection has ended before the body has.
		return session.ErrPeerGone
	}
	return err
}

// nextChunk reads up to the bytes of the next chunk, or to the end.
func (b *body) nextChunk() error {
	if !b.chunked {
		b.over = true
		return nil
	}
	if b.inChunk {
		b.inChunk = false
		line, err := b.line()
		if err != nil {
			return err
		}
		if len(line) > 0 {
			return fmt.Errorf("%w: %.20q behind a chunk", errFraming, line)
		}
	}
	line, err := b.line()
	if err != nil {
		return err
	}
	n, ok := chunkLen(line)
	if !ok {
		return fmt.Errorf("%w: %.20q is not the length of a chunk", errFraming, line)
	}
	if n > 0 {
		b.left, b.inChunk = n, true
		return nil
	}
	for range maxTrailers {
		line, err := b.line()
		if err != nil {
			return err
		}
		if len(line) == 0 {
			b.over = true
			return nil
		}
	}
	return fmt.Errorf("%w: more than %d lines behind the last chunk", errFraming, maxTrailers)
}

// chunkLen reads the line before a chunk: hexadecimal digits, and extensions,
// which nobody uses.
func chunkLen(line []byte) (n int64, ok bool) {
	digits, _, _ := bytes.Cut(line, []byte(";"))
	digits = bytes.TrimRight(digits, " \t")
	for _, c := range digits {
		var d byte
		switch {
		case c >= '0' && c <= '9':
			d = c - '0'
		case c >= 'a' && c <= 'f':
			d = c - 'a' + 10
		case c >= 'A' && c <= 'F':
			d = c - 'A' + 10
		default:
			return 0, false
		}
		if n >= 1<<58 {
			return 0, false
		}
		n = n<<4 | int64(d)
	}
	return n, len(digits) > 0
}
