package consensus

import (
	"errors"
	"fmt"
	"hash/crc32"
)

// sums are the checksums of records that the node's log has already and that
// raft is about to apply again, so that records of another origin are not
// taken for them: those would be lost that have the same numbers. They are read once, in
// one go; there are as many as fit between two snapshots.
type sums struct {
	first uint64 // number of the first
	crcs  []uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// compare holds records, the first of which has a number, against the log.
func (s *sums) compare(log recordSource, first uint64, records [][]byte) error {
	if len(records) == 0 {
		s.crcs = nil
		return nil
	}
	last := first + uint64(len(records)) - 1
	if s.crcs == nil || first < s.first || last >= s.first+uint64(len(s.crcs)) {
		if err := s.read(log, first); err != nil {
			return err
		}
	}
	for i, r := range records {
		index := first + uint64(i)
		if crc32.Checksum(r, castagnoli) != s.crcs[index-s.first] {
			return fmt.Errorf("%w: record %d is another one: somebody else has written to the log, or the raft directory is another node's", errDiverged, index)
		}
	}
	return nil
}

// read reads the checksums of what the log has from a number on.
func (s *sums) read(log recordSource, first uint64) error {
	last := log.LastIndex()
	s.first, s.crcs = first, make([]uint32, 0, last+1-first)
	err := log.Read(first, func(index uint64, record []byte) error {
		if index > last {
			return errEnough
		}
		s.crcs = append(s.crcs, crc32.Checksum(record, castagnoli))
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if got := uint64(len(s.crcs)); got != last+1-first {
		return fmt.Errorf("%w: %d records from %d on, not %d", errDiverged, got, first, last+1-first)
	}
	return nil
}
