// Package acked is the file format in which a load generator keeps what a sink has
// acknowledged, to compare it with what the sink recovers.
//
// It begins with the line "sluice lab acks". An entry is 16 bytes, big-endian: the 8-byte number that the sink answered, the
// CRC32C (Castagnoli) of the payload in 4, the length of the payload in 4. A last entry that is not
// whole, or a file that ends in its first line, as a killed generator leaves them, is no error and is left out.
//
// The methods of a Writer may be called from any goroutine.
package acked

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"sync"
)

const (
	// Size is the length of an entry in bytes.
	Size = 16
	head = "sluice lab acks\n" // as long as an entry
)

// ErrForm is returned for a file of another form.
var ErrForm = errors.New("not a file that lab load --acks has written")

// A Writer writes entries. Its first error stays.
type Writer struct {
	mu sync.Mutex
	w  *bufio.Writer
}

// NewWriter returns a Writer to w, which is buffered: Flush ends it.
func NewWriter(w io.Writer) *Writer {
	b := bufio.NewWriterSize(w, 64<<10)
	b.WriteString(head)
	return &Writer{w: b}
}

// Append adds an entry.
func (w *Writer) Append(index uint64, crc, length uint32) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.w.Available() < Size {
		if err := w.w.Flush(); err != nil {
			return err
		}
	}
	e := binary.BigEndian.AppendUint64(w.w.AvailableBuffer(), index)
	e = binary.BigEndian.AppendUint32(e, crc)
	e = binary.BigEndian.AppendUint32(e, length)
	_, err := w.w.Write(e)
	return err
}

// Flush writes out what is buffered.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Flush()
}

// Read passes the entries of r to fn in their order. An error of fn ends it and is
// returned.
func Read(r io.Reader, fn func(index uint64, crc, length uint32) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var e [Size]byte
	for first := true; ; first = false {
		n, err := io.ReadFull(in, e[:])
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		switch {
		case err != nil && !ended:
			return err
		case first && !strings.HasPrefix(head, string(e[:n])):
			return ErrForm
		case ended:
			return nil
		case first:
			continue
		}
		err = fn(binary.BigEndian.Uint64(e[:]), binary.BigEndian.Uint32(e[8:]), binary.BigEndian.Uint32(e[12:]))
		if err != nil {
			return err
		}
	}
}
