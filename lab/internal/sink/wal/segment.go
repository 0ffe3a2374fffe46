package wal

import "sort"

// A segment is a file of a log.
type segment struct {
	first  uint64  // number of its first record
	size   int64   // bytes
	places []place // of a record in each window of bytes, ascending
}

// A place is where a record begins.
type place struct {
	index uint64
	off   int64
}

// note remembers where a record is, when it is far enough behind the one before: 16
// bytes of memory for each window of the file.
func (s *segment) note(index uint64, off int64) {
	if n := len(s.places); off >= window && (n == 0 || off-s.places[n-1].off >= window) {
		s.places = append(s.places, place{index, off})
	}
}

// near returns a place at or before a record.
func (s *segment) near(index uint64) place {
	n := sort.Search(len(s.places), func(i int) bool { return s.places[i].index > index })
	if n == 0 {
		return place{s.first, segmentHeader}
	}
	return s.places[n-1]
}
