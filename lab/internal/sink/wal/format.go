package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// The form of a log. Numbers are big-endian.
//
// A segment begins with
//
//	 0   8  "SluiceWL"
//	 8   4  version, 1
//	12   8  salt, random
//	20   8  number of its first record
//	28   4  CRC32C of the 28 bytes before
//
// and goes on with records:
//
//	 0   4  length of the payload
//	 4   4  CRC32C of the salt, the rest of this header without this field, and the payload
//	 8   8  number of the record
//	16   8  number of the last record that was durable when this one was written
//	24   .  payload
const (
	magic         = "SluiceWL"
	version       = 1
	segmentHeader = 32
	recordHeader  = 24
)

// Suffix is what the names of the files of a log end in.
const Suffix = ".wal"

// mostRecord bounds MaxRecord, so that the lengths of the form fit an int everywhere.
const mostRecord = 1 << 30

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A salt goes into the checksum of each record of a segment, so that bytes that a
// client sent, or that an older file left on the disk, cannot pass for a record.
type salt [8]byte

// seed is the checksum of the salt, which that of each record goes on from.
func (s salt) seed() uint32 { return crc32.Checksum(s[:], castagnoli) }

// segmentName is the name of a segment without its directory. Names sort as
// their numbers do.
func segmentName(first uint64) string { return fmt.Sprintf("%020d%s", first, Suffix) }

func parseName(name string) (first uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, Suffix)
	first, err := strconv.ParseUint(digits, 10, 64)
	return first, ok && err == nil && len(digits) == 20 && first > 0
}

func putSegmentHeader(b []byte, s salt, first uint64) {
	copy(b, magic)
	binary.BigEndian.PutUint32(b[8:], version)
	copy(b[12:], s[:])
	binary.BigEndian.PutUint64(b[20:], first)
	putSegmentSum(b)
}

func putSegmentSum(b []byte) { binary.BigEndian.PutUint32(b[28:], crc32.Checksum(b[:28], castagnoli)) }

// errVersion is a whole header of another version: no damage.
var errVersion = errors.New("the log is of version")

func parseSegmentHeader(b []byte) (s salt, first uint64, err error) {
	switch {
	case len(b) < segmentHeader:
		return s, 0, errors.New("the header is cut short")
	case string(b[:8]) != magic:
		return s, 0, errors.New("the header is not that of a log")
	case crc32.Checksum(b[:28], castagnoli) != binary.BigEndian.Uint32(b[28:]):
		return s, 0, errors.New("the header does not have its checksum")
	case binary.BigEndian.Uint32(b[8:]) != version:
		return s, 0, fmt.Errorf("%w %d, this program knows %d", errVersion, binary.BigEndian.Uint32(b[8:]), version)
	}
	copy(s[:], b[12:])
	return s, binary.BigEndian.Uint64(b[20:]), nil
}

func appendRecord(b []byte, seed uint32, index, durable uint64, payload []byte) []byte {
	at := len(b)
	b = binary.BigEndian.AppendUint64(b, uint64(len(payload))<<32)
	b = binary.BigEndian.AppendUint64(b, index)
	b = binary.BigEndian.AppendUint64(b, durable)
	binary.BigEndian.PutUint32(b[at+4:], recordSum(seed, b[at:], payload))
	return append(b, payload...)
}

func recordSum(seed uint32, header, payload []byte) uint32 {
	sum := crc32.Update(seed, castagnoli, header[:4])
	sum = crc32.Update(sum, castagnoli, header[8:recordHeader])
	return crc32.Update(sum, castagnoli, payload)
}

type recordHead struct {
	length         int64
	sum            uint32
	index, durable uint64
}

func parseRecordHeader(b []byte) recordHead {
	return recordHead{
		int64(binary.BigEndian.Uint32(b)), binary.BigEndian.Uint32(b[4:]),
		binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:]),
	}
}
