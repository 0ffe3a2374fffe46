package consensus

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Records that a node lacks and that are no longer in any raft log come out of
// another node's log. The node that lacks them sends the byte forRecords, and the first and the
// last number in 8 big-endian bytes each; the other one answers with as many of
// these as it has, each a 4-byte length and its bytes, then transferEnd, and a
// 2-byte length with a text that says why there are no more, empty where there is no
// reason but that it has no more.
const (
	transferEnd      = 0xffff_ffff
	transferPatience = 10 * time.Second // for either side to go on
	transferBatch    = 1 << 20          // bytes that are appended at once
)

// errEnough ends the reading of a log.
var errEnough = errors.New("enough")

// recordSource is the log that records are transferred out of.
type recordSource interface {
	LastIndex() uint64
	Read(from uint64, fn func(index uint64, record []byte) error) error
}

// sendRecords answers a connection that asks for records.
func sendRecords(c net.Conn, log recordSource) error {
	var ask [16]byte
	c.SetDeadline(time.Now().Add(transferPatience))
	if _, err := io.ReadFull(c, ask[:]); err != nil {
		return err
	}
	from, to := binary.BigEndian.Uint64(ask[:]), binary.BigEndian.Uint64(ask[8:])
	// A deadline for each write: the whole may be long.
	w := bufio.NewWriterSize(&patientWriter{c}, 64<<10)
	to = min(to, log.LastIndex())
	reason := ""
	if from < 1 {
		reason = "there is no record 0"
	} else if from <= to {
		err := log.Read(from, func(index uint64, record []byte) error {
			if index > to {
				return errEnough
			}
			var length [4]byte
			binary.BigEndian.PutUint32(length[:], uint32(len(record)))
			if _, err := w.Write(length[:]); err != nil {
				return err
			}
			_, err := w.Write(record)
			return err
		})
		if err != nil && !errors.Is(err, errEnough) {
			reason = err.Error()
		}
	}
	end := binary.BigEndian.AppendUint32(nil, transferEnd)
	reason = reason[:min(len(reason), 1<<10)]
	end = binary.BigEndian.AppendUint16(end, uint16(len(reason)))
	if _, err := w.Write(append(end, reason...)); err != nil {
		return err
	}
	return w.Flush()
}

type patientWriter struct{ c net.Conn }

func (w *patientWriter) Write(p []byte) (int, error) {
	w.c.SetWriteDeadline(time.Now().Add(transferPatience))
	return w.c.Write(p)
}

type patientReader struct{ c net.Conn }

func (r *patientReader) Read(p []byte) (int, error) {
	r.c.SetReadDeadline(time.Now().Add(transferPatience))
	return r.c.Read(p)
}

// receiveRecords asks for records and passes what comes to add, which borrows it until
// it returns.
func receiveRecords(c net.Conn, from, to uint64, add func(records [][]byte) error) error {
	ask := binary.BigEndian.AppendUint64(nil, from)
	ask = binary.BigEndian.AppendUint64(ask, to)
	if _, err := (&patientWriter{c}).Write(ask); err != nil {
		return err
	}
	r := bufio.NewReaderSize(&patientReader{c}, 64<<10)
	var batch [][]byte
	held := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := add(batch)
		clear(batch)
		batch, held = batch[:0], 0
		return err
	}
	for next := from; ; next++ {
		var length [4]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return errors.Join(flush(), fmt.Errorf("record %d: %w", next, err))
		}
		n := binary.BigEndian.Uint32(length[:])
		if n == transferEnd {
			if err := flush(); err != nil {
				return err
			}
			return transferReason(r)
		}
		if n > MaxBatch || next > to {
			return fmt.Errorf("record %d of %d bytes was not asked for", next, n)
		}
		record, err := readRecord(r, int(n))
		if err != nil {
			return errors.Join(flush(), fmt.Errorf("record %d: %w", next, err))
		}
		batch, held = append(batch, record), held+len(record)+len(length)
		if held >= transferBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
}

// readRecord reads n bytes into memory that follows what comes, not what was
// claimed.
func readRecord(r io.Reader, n int) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(min(n, 64<<10))
	if _, err := io.CopyN(&b, r, int64(n)); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return b.Bytes(), nil
}

func transferReason(r io.Reader) error {
	var length [2]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return err
	}
	text := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(r, text); err != nil {
		return err
	}
	if len(text) > 0 {
		return fmt.Errorf("the other node says: %q", text)
	}
	return nil
}
