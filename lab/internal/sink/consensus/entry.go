package consensus

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// An entry of the raft log is a byte that says which form it has, a 4-byte
// big-endian number of records, their lengths in 4 bytes each, and their bytes.
const (
	entryForm   = 1
	entryHeader = 5
	entryLength = 4
)

var errEntry = errors.New("entry of the raft log is not one of ours")

// appendEntryHeader begins an entry: size are the lengths of its records.
func appendEntryHeader(b []byte, sizes []int) []byte {
	b = append(b, entryForm)
	b = binary.BigEndian.AppendUint32(b, uint32(len(sizes)))
	for _, n := range sizes {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return b
}

// parseEntry returns the records of an entry, which are parts of it.
func parseEntry(b []byte) ([][]byte, error) {
	if len(b) < entryHeader || b[0] != entryForm {
		return nil, fmt.Errorf("%w: it begins with % x", errEntry, b[:min(len(b), entryHeader)])
	}
	count := uint64(binary.BigEndian.Uint32(b[1:]))
	lengths := b[entryHeader:]
	if count == 0 || count*entryLength > uint64(len(lengths)) {
		return nil, fmt.Errorf("%w: %d records in %d bytes", errEntry, count, len(b))
	}
	payload := lengths[count*entryLength:]
	records := make([][]byte, count)
	for i := range records {
		n := uint64(binary.BigEndian.Uint32(lengths[i*entryLength:]))
		if n > uint64(len(payload)) {
			return nil, fmt.Errorf("%w: record %d of %d has %d bytes, %d are left", errEntry, i+1, count, n, len(payload))
		}
		records[i], payload = payload[:n:n], payload[n:]
	}
	if len(payload) > 0 {
		return nil, fmt.Errorf("%w: %d bytes behind the last record", errEntry, len(payload))
	}
	return records, nil
}
