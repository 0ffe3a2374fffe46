package rtmp

import (
	sluice "github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// ChunkReader takes a stream of chunks apart into messages (specification,
// section 5.3). A message that lies in one chunk is the memory that it was
// read into: nothing is copied and nothing allocated. One that was cut is
// gathered into memory that grows with what has arrived.
//
// It follows Set Chunk Size and Abort messages by itself and returns all
// others. A call that fails because bytes are missing (a deadline,
// sluice.ErrShort) can be repeated; after ErrProtocol, ErrTooLong or ErrTooMany
// the stream cannot be parsed any more. Where the reader's Allocator has a budget that is
// used up, memory for a message that was cut is waited for as the reader waits for its own:
// in the same queue, with the same ends, and not at all when it is fed. A message that is
// longer than the whole budget is refused with mem.ErrBudget.
//
// A ChunkReader belongs to one goroutine at a time.
type ChunkReader struct {
	// First what each chunk needs, together: a server with many publishers has to fetch it
	// for each.

	r         *sluice.BufReader
	cur       *chunkStream // whose chunk is being read, nil between chunks
	left      int          // bytes of that chunk to come
	recent    *chunkStream // the latest that find has returned, or nil
	open      int          // chunk streams with an unfinished message
	chunkSize int
	confined  bool // no message may be longer than a command
	omits     bool // the peer has left an extended timestamp out of a header of format 3
	limits    Limits
	alloc     *mem.Allocator
	streams   map[uint32]*chunkStream
	spare     []*chunkStream // to be used again

	unfinished int // bytes gathered of unfinished messages
	held       int // memory that they are gathered in
	holding    int // what Limits.Hold was called with
}

// chunkStream is what later headers of a chunk stream refer to, and the message
// that is being gathered on it.
type chunkStream struct {
	id       uint32
	typ      MessageType
	streamID uint32
	time     uint32 // of the latest message
	delta    uint32 // the latest timestamp field, as far as it counts for a format 3 header
	extends  bool   // the latest timestamp field was extended
	known    bool   // there was a header with a length
	open     bool   // a message is unfinished
	length   int    // of the latest message
	have     int    // bytes of it
	slab     mem.Slab
}

// NewChunkReader returns a reader of the chunks in r, which it uses and does
// not own. Gathered messages come from r's Allocator.
func NewChunkReader(r *sluice.BufReader, l Limits) *ChunkReader {
	c := new(ChunkReader)
	c.init(r, l)
	return c
}

func (c *ChunkReader) init(r *sluice.BufReader, l Limits) {
	if r == nil {
		panic("rtmp: NewChunkReader(nil)")
	}
	c.r, c.limits, c.chunkSize = r, l.orDefault(), InitialChunkSize
	c.alloc = r.Allocator
	if c.alloc == nil {
		c.alloc = mem.Default()
	}
	c.streams = make(map[uint32]*chunkStream)
}

// ChunkSize returns the chunk size that the peer has set, in bytes.
func (c *ChunkReader) ChunkSize() int { return c.chunkSize }

// close ends the message of cs.
func (c *ChunkReader) close(cs *chunkStream) {
	if cs.open {
		cs.open = false
		c.open--
	}
	cs.have = 0
}

// stream adds a chunk stream.
func (c *ChunkReader) stream(id uint32) *chunkStream {
	var cs *chunkStream
	if k := len(c.spare) - 1; k >= 0 {
		cs, c.spare = c.spare[k], c.spare[:k]
	} else {
		cs = new(chunkStream)
	}
	*cs = chunkStream{id: id}
	c.streams[id] = cs
	return cs
}
