package sluice

// Block sizes follow the stream. The knee of the cost per byte is at 64 KiB:
// 4 KiB reads cost nearly twice the processor time per byte, 16 KiB a fifth
// more, 256 KiB nothing less.
const (
	minBlock   = 256 // the allocator's smallest class
	firstBlock = 4 << 10
	maxBlock   = 64 << 10
	// framesPerBlock keeps the part of the bytes that is copied, the broken
	// head of the last frame in each block, small: half a frame of the longest
	// of late, for each block.
	framesPerBlock = 16
	// longFrame is where copying half a frame for each block begins to be more
	// than 2 in 100 of the largest block.
	longFrame = maxBlock / 64
	// exactAbove is the allocator's largest class: longer blocks are as long as
	// was asked for, not the next power of two.
	exactAbove = 4 << 20
	// asksPerFrame requests in a row that are shorter than the longest of late
	// do not make that shorter: they may be for the headers in between.
	asksPerFrame = 4
	// calm reads in a row that fill less than an eighth of the block shrink it.
	calmReads = 8
)

// sizing decides how large the next block is. It is part of what an idle
// connection costs, hence the narrow fields.
type sizing struct {
	pinned int32 // BufLen, 0 when free
	block  int32 // what the rate of the stream asks for
	frame  int32 // about the longest recent contiguous request
	whole  int32 // frames of this length have come whole: trusted without growing into them
	less   uint8 // shorter requests in a row
	calm   uint8 // reads of little in a row
	// drained says that the latest read left room: the source had no more.
	drained bool
	// probing says that the next read waits, so far as anyone can tell.
	probing bool
	// open says that nobody knows yet how long what is asked for will be: a
	// line's end is being looked for.
	open bool
}

// mostTrust bounds the block that a peer gets for having sent long frames
// before: it need not send another.
const mostTrust = 512 << 10

// mostFrame is where the estimate of the frames' length ends.
const mostFrame = 1 << 28

func newSizing(bufLen int) sizing {
	if bufLen > 0 {
		bufLen = min(max(bufLen, 16), mostFrame)
	}
	return sizing{pinned: int32(bufLen), block: firstBlock}
}

// want returns the size for a new block.
func (s *sizing) want() int {
	if s.pinned > 0 {
		return int(s.pinned)
	}
	n := max(s.block, min(min(s.frame, maxBlock)*framesPerBlock, maxBlock))
	if s.whole > maxBlock/4 {
		// Two of the long frames that have been coming, so that the head of
		// the second need not be copied before it is complete.
		n = max(n, 2*s.whole)
	}
	return int(n)
}

// asked notes that n contiguous bytes were asked for and were not there.
func (s *sizing) asked(length int) {
	if s.open {
		return
	}
	n := int32(min(length, mostFrame))
	if n >= s.frame {
		s.frame = n
		s.less = 0
	} else if s.less < asksPerFrame {
		s.less++
	} else {
		s.frame -= (s.frame - n + 7) / 8
	}
	if s.whole > s.frame {
		s.whole = s.frame
	}
}

// came notes that n contiguous bytes were asked for and have come whole.
func (s *sizing) came(n int) {
	if s.pinned == 0 && !s.open && n > int(s.whole) {
		s.whole = int32(min(n, mostTrust))
	}
}

// read notes a read of n bytes into room, of a block of the given size.
func (s *sizing) read(n, room, block int) {
	s.drained = n < room
	switch {
	case n == room && room >= block/2 && block >= int(s.block):
		s.block = min(4*s.block, maxBlock)
		s.calm = 0
	case n < int(s.block/8):
		if s.calm++; s.calm >= calmReads {
			s.calm = 0
			s.block = max(s.block/2, minBlock)
		}
	default:
		s.calm = 0
	}
}

// stops reports whether reads into a block of the given length stop before its
// end, because frames are long against it.
func (s *sizing) stops(length int) bool {
	return s.pinned == 0 && !s.open && s.frame > longFrame && int(s.frame) <= length
}

// limit returns how far to fill a block of the given length: to its end,
// unless frames are long against it. Then what is read past the frame that is
// asked for, which ends at end, stops where another would not fit, so that
// its head need not be copied to the next block.
func (s *sizing) limit(length, end int) int {
	if !s.stops(length) {
		return length
	}
	frame := int(s.frame)
	soft := length - frame
	if end < soft {
		return soft
	}
	return min(length, end+max(64, min(frame/64, 4096)))
}
