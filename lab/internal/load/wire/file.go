package wire

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// File says what the requests to a file target are: a block each, as long as the sizes
// say.
type File struct {
	Pattern   string `json:"pattern,omitempty"`   // read, write, randread or randwrite; read if it is empty
	Size      int64  `json:"size,omitempty"`      // bytes of a file that is made, 0 for 256 MiB; of an existing one the part that is used, 0 for all
	Sync      int    `json:"sync,omitempty"`      // fsync(2) after so many writes, as part of the last of them; 0 never
	Direct    bool   `json:"direct,omitempty"`    // past the page cache (O_DIRECT, Linux)
	Overwrite bool   `json:"overwrite,omitempty"` // writes may go to a file that was there before
}

const (
	defaultFileSize = 256 << 20
	directBlock     = 512 // what sizes and offsets are multiples of
)

func (f *File) writes() bool { return strings.HasSuffix(f.Pattern, "write") }

func (f *File) check(path string) error {
	switch {
	case path == "":
		return errors.New("it names no path")
	case f.Pattern != "" && f.Pattern != "read" && f.Pattern != "write" && f.Pattern != "randread" && f.Pattern != "randwrite":
		return fmt.Errorf("there is no pattern %q, there are read, write, randread and randwrite", f.Pattern)
	case f.Sync < 0 || f.Sync > 0 && !f.writes():
		return fmt.Errorf("an fsync every %d writes with the pattern %s", f.Sync, f.Pattern)
	case f.Size < 0:
		return fmt.Errorf("a file of %d bytes", f.Size)
	case f.Direct && directFlag == 0:
		return fmt.Errorf("direct reads and writes: %w", errors.ErrUnsupported)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // it will be made, and removed
	case err != nil:
		return err
	case !info.Mode().IsRegular() && info.Mode()&(fs.ModeDevice|fs.ModeCharDevice) != fs.ModeDevice:
		return fmt.Errorf("it is neither a file nor a block device")
	case f.writes() && !f.Overwrite:
		return fmt.Errorf("it exists, and writing destroys what is in it: --overwrite allows that")
	}
	return nil
}

// CheckBlocks says whether blocks of least to most bytes, and of any length between
// them, can be read or written.
func (f *File) CheckBlocks(least, most int, between bool) error {
	if f.Direct && (between || least%directBlock != 0 || most%directBlock != 0) {
		return fmt.Errorf("%w: direct blocks have to be multiples of %d bytes", ErrTarget, directBlock)
	}
	if size := cmp.Or(f.Size, defaultFileSize); int64(most) > size {
		return fmt.Errorf("%w: blocks of %d bytes in %d of a file", ErrTarget, most, size)
	}
	return nil
}

type storage struct {
	path    string
	options File
	size    int64
	made    bool         // by us: it is removed at the end
	next    atomic.Int64 // where the next sequential block begins
	writes  atomic.Int64
}

func (s *storage) prepare(ctx context.Context) error {
	// O_EXCL: what exists is never taken for ours.
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		if err := s.options.check(s.path); err != nil {
			return err
		}
		flags := os.O_RDONLY
		if s.options.writes() {
			flags |= os.O_EXCL // not a device that is mounted: open(2)
		}
		f, err := os.OpenFile(s.path, flags, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		if s.size, err = f.Seek(0, io.SeekEnd); err == nil && s.options.Size > 0 {
			s.size = min(s.size, s.options.Size)
		}
		return err
	}
	if err != nil {
		return err
	}
	s.made = true
	s.size = cmp.Or(s.options.Size, defaultFileSize)
	if err = errors.Join(fill(ctx, f, s.size), f.Sync(), f.Close()); err != nil {
		err = errors.Join(err, s.remove())
	}
	return err
}

// fill writes random bytes, which no file system makes shorter, so that no block is
// one that was never written.
func fill(ctx context.Context, f *os.File, size int64) error {
	block := make([]byte, min(1<<20, size))
	rand.Read(block)
	for at := int64(0); at < size; at += int64(len(block)) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := f.WriteAt(block[:min(int64(len(block)), size-at)], at); err != nil {
			return err
		}
	}
	return nil
}

func (s *storage) remove() error {
	if !s.made {
		return nil
	}
	return os.Remove(s.path)
}

type blocks struct {
	*storage
	file    *os.File
	buffers sync.Pool
}

func (s *storage) open() (*blocks, error) {
	flags := os.O_RDONLY
	if s.options.writes() {
		flags = os.O_WRONLY
	}
	if s.options.Direct {
		flags |= directFlag
	}
	f, err := os.OpenFile(s.path, flags, 0)
	if err != nil {
		return nil, err
	}
	return &blocks{storage: s, file: f}, nil
}

func (b *blocks) buffer(n int) *[]byte {
	if p, ok := b.buffers.Get().(*[]byte); ok && cap(*p) >= n {
		*p = (*p)[:n]
		return p
	}
	p := aligned(n)
	rand.Read(p)
	return &p
}

// Call reads or writes a block. It does not end with ctx.
func (b *blocks) Call(_ context.Context, r *Request) (Outcome, error) {
	size := int64(r.Size)
	count := b.size / size
	if count == 0 {
		return Outcome{}, fmt.Errorf("load: %s has %d bytes, fewer than a block of %d", b.path, b.size, size)
	}
	var at int64
	if strings.HasPrefix(b.options.Pattern, "rand") {
		at = int64(scatter(r, 0)%uint64(count)) * size
	} else {
		at = (b.next.Add(size) - size) % (count * size)
	}
	buf := b.buffer(r.Size)
	defer b.buffers.Put(buf)
	if !b.options.writes() {
		n, err := b.file.ReadAt(*buf, at)
		if err == io.EOF {
			err = fmt.Errorf("load: %s ends before byte %d of the %d that it had: %w", b.path, at+size, b.size, io.ErrUnexpectedEOF)
		}
		return Outcome{Done: true, Payload: n}, err
	}
	n, err := b.file.WriteAt(*buf, at)
	if err == nil && b.options.Sync > 0 && b.writes.Add(1)%int64(b.options.Sync) == 0 {
		err = b.file.Sync()
	}
	return Outcome{Done: true, Payload: n}, err
}

func (b *blocks) Close() error { return b.file.Close() }

// pageLen is what buffers of direct reads and writes are aligned to: no device wants
// more.
const pageLen = 4096

func aligned(n int) []byte {
	b := make([]byte, n+pageLen)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (pageLen - 1)
	return b[skip : skip+n : skip+n]
}
