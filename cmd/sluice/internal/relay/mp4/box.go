package mp4

import (
	"encoding/binary"
	"iter"
)

// boxHead is what a box begins with: its length, itself included, and its type
// (section 4.2).
const boxHead = 8

// box returns the type and the length of the box at the front of p, which may end
// inside it. Lengths of 64 bits and boxes up to the end of the file are not of this
// package.
func box(p []byte) (kind string, size int, ok bool) {
	if len(p) < boxHead {
		return "", 0, false
	}
	size = int(binary.BigEndian.Uint32(p))
	return string(p[4:8]), size, size >= boxHead
}

// find returns the place of the first box of a kind in p.
func find(p []byte, kind string) (at int, ok bool) {
	for at = 0; at < len(p); {
		k, size, ok := box(p[at:])
		if !ok || size > len(p)-at {
			return 0, false
		}
		if k == kind {
			return at, true
		}
		at += size
	}
	return 0, false
}

// inside returns the contents of the first box of a kind in p.
func inside(p []byte, kind string) []byte {
	at, ok := find(p, kind)
	if !ok {
		return nil
	}
	_, size, _ := box(p[at:])
	return p[at+boxHead : at+size]
}

// boxes yields the contents of the boxes of a kind in p.
func boxes(p []byte, kind string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for {
			at, ok := find(p, kind)
			if !ok {
				return
			}
			_, size, _ := box(p[at:])
			if !yield(p[at+boxHead : at+size]) {
				return
			}
			p = p[at+size:]
		}
	}
}
