// Package sizing decides how large a reader's blocks are, how much of one a
// read is offered, and when bytes are moved. It is numbers and arithmetic:
// what was seen goes in, lengths in bytes come out.
package sizing

// The table of all numbers that decide a block's size.
const (
	// MinBlock is the allocator's smallest class.
	MinBlock = 256
	// FirstBlock is what a stream of which nothing is known begins with: one
	// page, enough for a request's header.
	FirstBlock = 4 << 10
	// MaxBlock is the knee of the cost per byte of read(2): 4 KiB reads cost
	// nearly twice the processor time per byte, 16 KiB a fifth more, 256 KiB
	// nothing less.
	MaxBlock = 64 << 10
	// framesPerBlock keeps the part of the bytes that is copied, the broken
	// head of the last frame in each block, small: half a frame in sixteen for
	// each block is 3 in 100 at most, and less where several reads fill it.
	framesPerBlock = 16
	// longFrame is where copying half a frame for each block begins to be more
	// than 2 in 100 of the largest block: reads stop before such a frame's
	// break instead.
	longFrame = MaxBlock / 64
	// exactAbove is the allocator's largest class: longer blocks are as long as
	// was asked for, not the next power of two.
	exactAbove = 4 << 20
	// asksPerFrame is how many shorter requests in a row do not lower the
	// estimate of the frame length: they may be for headers between frames.
	asksPerFrame = 4
	// calmReads reads in a row that fill less than an eighth of the block
	// halve it.
	calmReads = 8
	// recentReads is the number of reads over which the longest recent message
	// is measured. A longer message costs a second read, which is acceptable
	// when it is rare.
	recentReads = 16
	// dribble is the part of a block that reads are below when a block for what
	// usually comes would stay nearly empty: a sixteenth costs a frame that comes
	// in pieces one move more.
	dribble = 16
	// mostTrust bounds the block that a peer gets for having sent long frames
	// before: it need not send another.
	mostTrust = 512 << 10
	// mostFrame is where the estimate of the frames' length ends.
	mostFrame = 1 << 28
	// mostHead is the longest header that is looked for before an item.
	mostHead = 128
	// CopyBelow is the length up to which transferred pieces are copied
	// together: a record for each would cost as much as the bytes.
	CopyBelow = 512
	// Piece is the longest run of bytes that is copied together for a caller
	// that accepts a list of pieces too.
	Piece = MaxBlock / 4
)

// Sizing is what has been seen of one stream. It is part of what an idle
// connection costs, hence the narrow fields.
type Sizing struct {
	pinned int32 // BufLen, 0 when free
	block  int32 // what the rate of the stream asks for
	frame  int32 // about the longest recent contiguous request
	whole  int32 // frames of this length have come whole: trusted without growing into them
	recent int32 // the longest read of the last recentReads, and of those before
	longer int32 // the longest read of the current ones
	less   uint8 // shorter requests in a row
	calm   uint8 // reads of little in a row
	reads  uint8 // of the current ones
	head   uint8 // bytes before the last long item
	// Drained says that the latest read left room: the source had no more.
	Drained bool
	// Open says that the length of the request is not known yet: the reader
	// is looking for the end of a line.
	Open bool
	// Pressed says that the allocator's budget is used up: nothing is taken
	// that is not needed for the item that is asked for.
	Pressed bool
}

// New returns the sizing of a stream of which nothing is known. bufLen pins
// the size of blocks and reads; 0 lets them follow the stream.
func New(bufLen int) Sizing {
	if bufLen > 0 {
		bufLen = min(max(bufLen, 16), mostFrame)
	}
	return Sizing{pinned: int32(bufLen), block: FirstBlock}
}

// Pinned reports whether the size is not to follow the stream.
func (s *Sizing) Pinned() bool { return s.pinned > 0 }

// Want returns the size for a new block.
func (s *Sizing) Want() int {
	if s.pinned > 0 {
		return int(s.pinned)
	}
	if s.Pressed {
		return max(MinBlock, s.batch())
	}
	n := max(s.block, min(min(s.frame, MaxBlock)*framesPerBlock, MaxBlock))
	if s.whole > MaxBlock/4 {
		// Two of the long frames that have been coming, so that the head of
		// the second need not be copied before it is complete.
		n = max(n, 2*s.whole)
	}
	return int(n)
}

// batch returns how many bytes a reader may read for one place in the queue for
// memory: as many items with their headers, as long as the last ones,
// as a block has room for. What is read beyond whole items would have to be
// held while others are served.
func (s *Sizing) batch() int {
	item := int(s.frame) + int(s.head)
	if item == 0 || item >= MaxBlock {
		return min(item, MaxBlock)
	}
	return MaxBlock / item * item
}

// Begins notes that before bytes of an item came before the asked ones.
func (s *Sizing) Begins(before int64, asked int) {
	if asked >= int(s.frame)/2 && before <= mostHead {
		s.head = uint8(before)
	}
}

// Fresh returns the size for a block that has nothing in it and is to take
// need bytes. keeps says that the source keeps the block while it waits: such
// a block is as long as what usually comes.
func (s *Sizing) Fresh(need int, keeps bool) int {
	if keeps && s.Drained && s.pinned == 0 && !s.Pressed {
		return max(int(s.recent), need, MinBlock)
	}
	return max(s.Want(), need)
}

// Suits reports whether a block of length bytes, with nothing in it, will do
// where Fresh says size.
func (s *Sizing) Suits(length, size, need int, keeps bool) bool {
	return length >= need && length > size/2 && (length < 2*size || length == 2*size && !keeps)
}

// WorthParking returns how many bytes of a block must be free for it to be
// filled on after a wait: a quarter, or what an item with its header or else a read
// takes if that is less. What is left free is lost to those who keep what the block had.
// Items that are small beside a read say nothing: a message may be of many.
func (s *Sizing) WorthParking() int {
	least := s.Want() / 4
	if item := int(s.frame) + int(s.head); item >= 2*MinBlock {
		least = min(least, item)
	} else if s.recent > 0 {
		least = min(least, int(s.recent))
	}
	return max(least, MinBlock)
}

// Length returns how much of a block of size bytes may be filled.
func (s *Sizing) Length(block, asked int) int {
	if s.pinned > 0 {
		return min(block, asked)
	}
	return block
}

// Tail reports whether the last tail bytes of a block of length bytes are
// worth a read, when what comes is not bound to be there.
func (s *Sizing) Tail(tail, length int) bool { return tail >= length/8 || s.Stops(length) }

// Grown returns the size for a block that need bytes are moved to, kept of
// which are there.
func (s *Sizing) Grown(need, kept int) int {
	size := max(s.Want(), need)
	if s.pinned == 0 && s.Drained && int(s.recent) <= size/dribble {
		// Not much more will come at once than of late; and the bytes are not
		// to be moved for each read.
		size = max(need, 2*kept, kept+2*int(s.recent), MinBlock)
	}
	if size < 2*kept && (s.pinned > 0 || size > exactAbove) {
		// Not just large enough: bytes that come one by one would otherwise be
		// moved for each.
		size = 2 * kept
	}
	return size
}

// Joined returns the size for a block that need bytes are joined in, kept of which are in
// one piece. marked says that more are to stay behind them.
func (s *Sizing) Joined(need, kept int, marked bool) int {
	if marked || need > exactAbove {
		return max(need, 2*kept) // as in Grown
	}
	return need
}

// Direct reports whether need contiguous bytes, kept of which are there, may
// be read straight into one block. Otherwise they are gathered in blocks first,
// so that a peer has to send what it makes us hold.
func (s *Sizing) Direct(need, kept int) bool {
	return need <= max(MaxBlock, s.Want(), 2*kept)
}

// Gather returns the size for the next block of those in which left bytes are
// gathered, when there are held.
func (s *Sizing) Gather(left, held int) int {
	size := MaxBlock
	if held > 0 && held < MaxBlock/2 {
		// With the front's block it is one block, no more.
		size = MaxBlock / 2
	}
	if s.pinned > 0 {
		size = int(s.pinned)
	}
	if s.Pressed {
		size = max(MinBlock, min(size, held))
	}
	return min(size, left)
}

// Behind returns the size for a block that n bytes go into behind others, held
// of which wait already: no more than those, so that memory follows the bytes.
func (s *Sizing) Behind(n, held int) int {
	return min(max(n, min(held, FirstBlock), MinBlock), MaxBlock)
}

// Little reports whether kept bytes are so few in a block of length bytes that
// a smaller one should keep them during a wait.
func (s *Sizing) Little(kept, length int) bool {
	if s.Pressed {
		return s.pinned == 0 && length > MinBlock && kept <= length/2
	}
	return s.pinned == 0 && length > MinBlock && kept <= length/8 && kept <= FirstBlock
}

// Asked notes that n contiguous bytes were asked for and were not there.
func (s *Sizing) Asked(length int) {
	if s.Open {
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

// More notes that got bytes came on the way to asked contiguous ones, in a
// block that had room for more.
func (s *Sizing) More(asked, got, room, block int) {
	if asked > int(s.frame) && !s.Open {
		s.frame = int32(min(asked, mostFrame))
	}
	if got == room || got < int(s.block/8) {
		if got > 0 {
			s.Saw(got, room, block)
		}
		return
	}
	s.Drained, s.calm = true, 0
}

// Came notes that n contiguous bytes were asked for and have come whole.
func (s *Sizing) Came(n int) {
	if s.pinned == 0 && !s.Open && n > int(s.whole) {
		s.whole = int32(min(n, mostTrust))
	}
}

// Saw notes that n bytes came for a room, of a block of the given length.
func (s *Sizing) Saw(n, room, block int) {
	s.Drained = n < room
	longest := int32(min(n, MaxBlock))
	if !s.Drained { // the message is longer than that
		longest = min(2*longest, MaxBlock)
	}
	if longest > s.longer {
		s.longer = longest
		s.recent = max(s.recent, longest)
	}
	if s.reads++; s.reads >= recentReads {
		s.recent, s.longer, s.reads = s.longer, 0, 0
	}
	switch {
	case !s.Drained && room >= block/2 && block >= int(s.block):
		s.block = min(4*s.block, MaxBlock)
		s.calm = 0
	case n < int(s.block/8):
		if s.calm++; s.calm >= calmReads {
			s.calm = 0
			s.block = max(s.block/2, MinBlock)
		}
	default:
		s.calm = 0
	}
}

// Stops reports whether reads into a block of the given length stop before its
// end, because frames are long against it.
func (s *Sizing) Stops(length int) bool {
	return s.frame > longFrame && s.pinned == 0 && !s.Open && int(s.frame) <= length
}

// Limit returns how far to fill a block of the given length when the asked
// bytes of an item end at end: to the block's end, unless frames are long against
// it. Then what is read past the item stops where another would not fit, so
// that its head need not be copied to the next block. Under pressure it is the item's end, or
// that of a batch where the item is short or its head was asked for. It is never before
// end, but for the block's end.
func (s *Sizing) Limit(length, end, asked int) int {
	if s.Pressed && s.pinned == 0 && length > MinBlock {
		if asked < max(int(s.frame)/2, MinBlock) {
			return min(length, end-asked+max(asked, s.batch()))
		}
		return min(length, end)
	}
	if !s.Stops(length) {
		return length
	}
	frame := int(s.frame)
	soft := length - frame
	if end < soft {
		return soft
	}
	return min(length, end+max(64, min(frame/64, 4096)))
}
