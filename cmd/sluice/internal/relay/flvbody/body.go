// Package flvbody reads FLV from the body of an HTTP message, a publisher's request or an
// origin's answer, out of the connection's reader.
package flvbody

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/flv"
)

// ErrFraming is an error in the framing of a chunked body.
var ErrFraming = errors.New("bad chunked body")

const (
	maxChunkLine = 1 << 10 // bytes of the line before a chunk, extensions included
	maxTrailers  = 64      // lines behind the last chunk
)

// Lengths of bodies that say none.
const (
	Chunked  = -1 // RFC 9112, section 7.1
	ToTheEnd = -2 // of the connection
)

// A Reader reads FLV from the body of a message, from the connection into counted
// memory. A tag inside one chunk is not copied; a tag that spans chunks is copied
// into one piece. It is used by one goroutine at a time.
type Reader struct {
	// Hold, unless it is nil, is called when a tag is being read of which the end is
	// missing and that is 64 KiB long or longer, with its length, and with 0 when that is
	// over. Its error is Next's. Set it before Next.
	Hold func(bytes int) error

	raw     *sluice.BufReader // the connection
	excuse  func(error) error
	chunked bool
	holding bool  // Hold was called, and not with 0 since
	open    bool  // ToTheEnd
	left    int64 // bytes of this chunk, or of the body, that were not fed yet
	inChunk bool  // the line end behind the chunk has not been read
	over    bool

	fed   *sluice.BufReader // the body's bytes
	tags  *flv.Decoder
	begun bool                   // the header of the file has been read
	edge  int64                  // offset in the body of the last known beginning of a tag
	head  [flv.TagHeaderLen]byte // header of that tag, as far as it was fed in parts
	heads int                    // number of bytes in head
}

// New reads a body from raw, transferred to Close, with the Allocator of raw, of so many bytes or Chunked or
// ToTheEnd, of tags with payloads of at most maxTag bytes. excuse, unless it is nil, is
// called with the error of each read of raw that failed: after nil the read is repeated,
// else Next returns what excuse has.
func New(raw *sluice.BufReader, length int64, maxTag int, excuse func(error) error) *Reader {
	raw.SetLimits(sluice.Options{Line: maxChunkLine})
	b := &Reader{raw: raw, excuse: excuse, chunked: length == Chunked, open: length == ToTheEnd, left: max(length, 0), fed: sluice.NewBufReaderFed(sluice.Options{Allocator: raw.Allocator})}
	if b.open {
		b.left = math.MaxInt64
	}
	b.tags = flv.NewDecoder(b.fed)
	b.tags.MaxTag = maxTag
	return b
}

// Close releases the memory, but not tags that were read.
func (b *Reader) Close() {
	b.fed.Recycle()
	b.raw.Recycle()
	b.letGo()
}

// leastHold is from which length on a tag is reported to Hold: what connections have below
// that is bounded by their number.
const leastHold = 64 << 10

func (b *Reader) hold(n int) error {
	if n < leastHold || b.Hold == nil {
		return nil
	}
	b.holding = true
	return b.Hold(n)
}

func (b *Reader) letGo() {
	if b.holding {
		b.holding = false
		_ = b.Hold(0) // less is no error
	}
}

// Next waits for the next tag and returns it, retained. io.EOF means that the body has
// ended after a whole tag. Errors match ErrFraming, or those of package flv, or are what
// excuse has returned.
func (b *Reader) Next() (flv.Tag, error) {
	for {
		tag, err := b.parse()
		if !errors.Is(err, sluice.ErrShort) {
			b.letGo()
			return tag, err
		}
		if err := b.feed(); err != nil {
			return flv.Tag{}, err
		}
	}
}

func (b *Reader) parse() (flv.Tag, error) {
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

// feed waits for more of the body and passes it to the parser, or tells the
// parser that the body has ended.
func (b *Reader) feed() error {
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
	switch {
	case b.open && err == io.EOF:
		return b.end()
	case err != nil:
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

// copyBelow is the size in bytes below which a part of a tag is copied at once.
// It has to be copied in any case, and a queue of tiny parts would need many
// times their memory.
const copyBelow = 4 << 10

// piece waits until there are enough bytes to feed, and returns how many, and
// whether they are whole tags.
func (b *Reader) piece() (n int, whole bool, err error) {
	for more := 1; ; {
		if err := b.await(more); err != nil {
			return 0, false, err
		}
		view := b.raw.View()
		if int64(len(view)) > b.left {
			view = view[:b.left]
		}
		if !b.begun {
			// Feed only the file's header, to find where the first tag begins.
			// Its length is nearly always flv.HeaderLen.
			lacks := max(flv.HeaderLen-int(b.fed.TotalRead()), 1)
			return min(len(view), lacks), false, nil
		}
		if lacks := b.lacks(); lacks > 0 {
			n, err := b.part(view[:min(len(view), lacks)])
			return n, false, err
		}
		end, next := wholeTags(view)
		if end > 0 {
			b.edge += int64(end)
			return min(end, len(view)), true, nil
		}
		if next == 0 || int64(next) > b.left || next > b.tags.MaxTag {
			n, err := b.part(view)
			return n, false, err
		}
		if err := b.hold(next); err != nil {
			return 0, false, err
		}
		more = next
	}
}

// lacks returns how many bytes are missing up to the end of the tag, or, before
// the tag's length is known, to know it; 0 at the beginning of a tag.
func (b *Reader) lacks() int {
	if n := b.edge - b.fed.TotalRead(); n > 0 {
		return int(n)
	}
	if b.heads > 0 {
		return flv.TagHeaderLen - b.heads
	}
	return 0
}

// part records a part of a tag, borrowed, that is about to be fed, and returns
// its length.
func (b *Reader) part(p []byte) (n int, err error) {
	if b.fed.TotalRead() < b.edge {
		return len(p), nil
	}
	b.heads += copy(b.head[b.heads:], p)
	if b.heads == len(b.head) {
		b.edge += int64(tagLen(b.head[:]))
		b.heads = 0
		err = b.hold(min(tagLen(b.head[:]), b.tags.MaxTag))
	}
	return len(p), err
}

// wholeTags finds the whole tags in p, which begins with a tag. end is the end of
// the last one, which may be a few bytes after p: some senders send the size that
// follows a tag together with the next tag, and a tag is not delayed for it. next
// is how many bytes after end the next tag needs to be whole, 0 when that is not
// known.
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

// tagLen is the length of a tag in bytes, with its header and the size after it.
func tagLen(head []byte) int {
	return flv.TagHeaderLen + (int(head[1])<<16 | int(head[2])<<8 | int(head[3])) + flv.PrevTagSizeLen
}

// await waits until n bytes can be viewed.
func (b *Reader) await(n int) error {
	for {
		_, err := b.raw.Peek(n)
		if err == nil {
			return nil
		}
		if err := b.failed(err); err != nil {
			return err
		}
	}
}

// line reads a line, borrowed.
func (b *Reader) line() ([]byte, error) {
	for {
		line, err := b.raw.ReadLineSlice()
		if err == nil {
			return line, nil
		}
		if errors.Is(err, sluice.ErrTooLong) {
			return nil, fmt.Errorf("%w: a line of more than %d bytes", ErrFraming, maxChunkLine)
		}
		if err := b.failed(err); err != nil {
			return nil, err
		}
	}
}

// failed returns nil when the read that failed with err should be repeated.
func (b *Reader) failed(err error) error {
	switch {
	case b.open && errors.Is(err, io.EOF):
		return io.EOF
	case b.excuse != nil:
		return b.excuse(err)
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}

// end feeds what is left of a body that ends with the connection.
func (b *Reader) end() error {
	b.over = true
	rest, err := b.raw.Next(b.raw.Buffered())
	if err != nil {
		return err
	}
	return b.fed.FeedCopy(rest)
}

// nextChunk reads up to the data of the next chunk, or to the end of the body.
func (b *Reader) nextChunk() error {
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
			return fmt.Errorf("%w: %.20q behind a chunk", ErrFraming, line)
		}
	}
	line, err := b.line()
	if err != nil {
		return err
	}
	n, ok := chunkLen(line)
	if !ok {
		return fmt.Errorf("%w: %.20q is not the length of a chunk", ErrFraming, line)
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
	return fmt.Errorf("%w: more than %d lines behind the last chunk", ErrFraming, maxTrailers)
}

// chunkLen parses the line before a chunk: hexadecimal digits, and extensions,
// which are ignored.
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
