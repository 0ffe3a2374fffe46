package planted

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// smallFlushes writes the lines of an access log to a compressed file. The
// fault: the compressor is flushed after each line, so that a reader that
// follows the file sees it at once; each flush ends a block and begins another with
// tables of its own.
func smallFlushes() lab.Scenario {
	return plant("small-flushes", "lines of about 150 bytes of an access log, written to a gzip file", "line", 2_000,
		way{"the compressor is flushed after each line", func(env lab.Env) (lab.Runner, error) { return newAccessLog(env, 1) }},
		way{"it is flushed when 64 KiB of lines have been gathered", func(env lab.Env) (lab.Runner, error) { return newAccessLog(env, 64<<10) }},
	)
}

// An accessLog is a compressed file of lines, written anew in each round.
type accessLog struct {
	file   *os.File
	out    *bufio.Writer // a compressor writes in little pieces
	zip    *gzip.Writer
	gather int    // bytes of lines that make a flush
	held   []byte // lines that the compressor has not seen
	line   []byte
	sum    uint32 // of the lines of the round
	whole  bool   // the round came to its end
}

func newAccessLog(env lab.Env, gather int) (lab.Runner, error) {
	file, err := os.Create(filepath.Join(env.Dir, "access.gz"))
	if err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(file, 64<<10)
	return &accessLog{file: file, out: out, zip: gzip.NewWriter(out), gather: gather}, nil
}

// append adds a line. It keeps nothing of it.
func (l *accessLog) append(line []byte) error {
	l.held = append(l.held, line...)
	if len(l.held) < l.gather {
		return nil
	}
	return l.flush()
}

// flush brings all lines to the file.
func (l *accessLog) flush() error {
	if _, err := l.zip.Write(l.held); err != nil {
		return err
	}
	l.held = l.held[:0]
	if err := l.zip.Flush(); err != nil {
		return err
	}
	return l.out.Flush()
}

// appendLine appends the log's line number i.
func appendLine(p []byte, i int) []byte {
	p = append(p, "10."...)
	p = strconv.AppendInt(p, int64(i*7%250), 10)
	p = append(p, '.')
	p = strconv.AppendInt(p, int64(i*31%250), 10)
	p = append(p, `.17 - - [02/Jan/2026:15:04:05 +0000] "GET /live/room-`...)
	p = strconv.AppendInt(p, int64(i*104729%9973), 10)
	p = append(p, `/segment-`...)
	p = strconv.AppendInt(p, int64(i), 10)
	p = append(p, `.ts HTTP/1.1" 200 `...)
	p = strconv.AppendInt(p, int64(90_000+i*7919%120_000), 10)
	return append(p, ` "-" "player/4.2 (Linux; x86_64)"`+"\n"...)
}

func (l *accessLog) Run(ops int) (lab.Sample, error) {
	if err := l.begin(); err != nil {
		return lab.Sample{}, err
	}
	var bytes int64
	for i := range ops {
		l.line = appendLine(l.line[:0], i)
		l.sum = crc32.Update(l.sum, castagnoli, l.line)
		bytes += int64(len(l.line))
		if err := l.append(l.line); err != nil {
			return lab.Sample{}, err
		}
	}
	if err := errors.Join(l.flush(), l.zip.Close(), l.out.Flush()); err != nil {
		return lab.Sample{}, err
	}
	l.whole = true
	return lab.Sample{Bytes: bytes, Check: uint64(l.sum)}, nil
}

// begin goes back to the beginning of the file. What an earlier round wrote
// is overwritten, as far as it goes: emptying a file may mean waiting for the disk.
func (l *accessLog) begin() error {
	if _, err := l.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	l.out.Reset(l.file)
	l.zip.Reset(l.out)
	l.held, l.sum, l.whole = l.held[:0], 0, false
	return nil
}

// Close reads the file of the last round back and compares it with what was
// logged, which would be too much to do in each.
func (l *accessLog) Close() error {
	return errors.Join(l.verify(), l.file.Close())
}

func (l *accessLog) verify() error {
	if !l.whole {
		return nil
	}
	if _, err := l.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r, err := gzip.NewReader(bufio.NewReader(l.file))
	if err != nil {
		return err
	}
	r.Multistream(false) // behind it is what is left of a longer round
	sum := crc32.New(castagnoli)
	if _, err := io.Copy(sum, r); err != nil {
		return err
	}
	if sum.Sum32() != l.sum {
		return fmt.Errorf("planted: the log holds other lines than were written: checksum %#x, want %#x", sum.Sum32(), l.sum)
	}
	return nil
}
