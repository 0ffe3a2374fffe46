//go:build linux

package realtest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/sluice-go/sluice/internal/flvclip"
)

// Types of tags, and of RTMP's messages.
const (
	tagAudio  = 8
	tagVideo  = 9
	tagScript = 18
)

// A tag is one tag of FLV, or what RTMP carries for it.
type tag struct {
	Type byte
	Time uint32 // ms
	Data []byte
}

const enhanced = 0x80 // in the first byte of a video tag: a fourcc follows

// config tells a sequence header, from which no picture or sound comes.
func (g tag) config() bool {
	if len(g.Data) < 2 {
		return false
	}
	first, second := g.Data[0], g.Data[1]
	switch {
	case g.Type == tagVideo && first&enhanced != 0:
		return first&0x0f == 0
	case g.Type == tagVideo:
		return (first&0x0f == 7 || first&0x0f == 12) && second == 0
	case g.Type == tagAudio && first>>4 == 9:
		return first&0x0f == 0
	case g.Type == tagAudio:
		return first>>4 == 10 && second == 0
	}
	return false
}

// end tells the tag that says that the sequence is over.
func (g tag) end() bool {
	return g.Type == tagVideo && len(g.Data) >= 2 && g.Data[0]&enhanced == 0 && g.Data[0]&0x0f == 7 && g.Data[1] == 2
}

// media tells a packet of picture or sound.
func (g tag) media() bool { return g.Type != tagScript && !g.config() && !g.end() }

// key tells a picture at which a decoder can start.
func (g tag) key() bool {
	return g.Type == tagVideo && g.media() && len(g.Data) > 0 && g.Data[0]>>4&7 == 1
}

// append appends the tag as a file has it.
func (g tag) append(p []byte) []byte {
	p = append(p, g.Type, byte(len(g.Data)>>16), byte(len(g.Data)>>8), byte(len(g.Data)))
	p = append(p, byte(g.Time>>16), byte(g.Time>>8), byte(g.Time), byte(g.Time>>24), 0, 0, 0)
	p = append(p, g.Data...)
	return binary.BigEndian.AppendUint32(p, uint32(11+len(g.Data)))
}

var flvHeader = []byte("FLV\x01\x05\x00\x00\x00\x09\x00\x00\x00\x00")

// A digest stands for a tag in comparisons.
type digest struct {
	Type byte
	Time uint32
	Size int
	Sum  uint32
}

func (g tag) digest() digest {
	return digest{g.Type, g.Time, len(g.Data), crc32.ChecksumIEEE(g.Data)}
}

// A tagSource yields tags until an error.
type tagSource interface{ next() (tag, error) }

// flvSource reads FLV strictly: a size after a tag that is not the tag's is an
// error.
type flvSource struct {
	r     *bufio.Reader
	begun bool
}

func newFLV(r io.Reader) *flvSource { return &flvSource{r: bufio.NewReaderSize(r, 64<<10)} }

func (f *flvSource) next() (tag, error) {
	if !f.begun {
		var h [13]byte
		if _, err := io.ReadFull(f.r, h[:]); err != nil {
			return tag{}, err
		}
		if string(h[:4]) != "FLV\x01" || h[4]&^5 != 0 || binary.BigEndian.Uint32(h[5:]) != 9 || binary.BigEndian.Uint32(h[9:]) != 0 {
			return tag{}, fmt.Errorf("not the header of FLV: %x", h)
		}
		f.begun = true
	}
	var h [11]byte
	if _, err := io.ReadFull(f.r, h[:]); err != nil {
		return tag{}, err
	}
	g := tag{
		Type: h[0],
		Time: uint32(h[4])<<16 | uint32(h[5])<<8 | uint32(h[6]) | uint32(h[7])<<24,
		Data: make([]byte, int(h[1])<<16|int(h[2])<<8|int(h[3])),
	}
	var tail [4]byte
	for _, p := range [][]byte{g.Data, tail[:]} {
		if _, err := io.ReadFull(f.r, p); err != nil {
			return tag{}, noEOF(err)
		}
	}
	if n := binary.BigEndian.Uint32(tail[:]); int(n) != 11+len(g.Data) || h[8]|h[9]|h[10] != 0 {
		return tag{}, fmt.Errorf("tag %x of %d bytes ends with size %d", h, len(g.Data), n)
	}
	return g, nil
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// clip is the tags of the clip.
var clip = sync.OnceValue(func() []tag {
	var tags []tag
	src := newFLV(bytesReader(flvclip.File))
	for {
		g, err := src.next()
		if err == io.EOF {
			return tags
		}
		if err != nil {
			panic(err)
		}
		tags = append(tags, g)
	}
})

const (
	clipVideo = 300
	clipAudio = 432
	clipMS    = 10_080 // after which it can be appended to itself
)

// collected is what a viewer has got; safe for concurrent use.
type collected struct {
	mu   sync.Mutex
	got  []digest // packets of picture and sound
	all  []digest // everything
	err  error
	done chan struct{}
}

// collect opens a source and reads it to its end, in a goroutine: a server
// answers a waiting viewer only when the stream exists.
func collect(open func() (tagSource, error)) *collected {
	c := &collected{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		src, err := open()
		for {
			var g tag
			if err == nil {
				g, err = src.next()
			}
			c.mu.Lock()
			if err != nil {
				c.err = err
				c.mu.Unlock()
				return
			}
			c.all = append(c.all, g.digest())
			if g.media() {
				c.got = append(c.got, g.digest())
			}
			c.mu.Unlock()
		}
	}()
	return c
}

func (c *collected) media() []digest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.got)
}

func (c *collected) tags() []digest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

func (c *collected) last() (digest, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.got) == 0 {
		return digest{}, false
	}
	return c.got[len(c.got)-1], true
}

func (c *collected) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// checkRun holds what a viewer has got against what was published: it must be
// one run of it without a hole, and not be empty.
func checkRun(t testing.TB, who string, got, published []digest) {
	t.Helper()
	if err := run(got, published); err != nil {
		t.Errorf("%s: %v", who, err)
	}
}

func run(got, published []digest) error {
	if len(got) == 0 {
		return errors.New("got nothing")
	}
	at := slices.Index(published, got[0])
	if at < 0 {
		return fmt.Errorf("the first packet %+v was not published", got[0])
	}
	for i, g := range got {
		switch {
		case at+i >= len(published):
			return fmt.Errorf("packet %d of %d comes after all that were published: %+v", i, len(got), g)
		case published[at+i] != g:
			return fmt.Errorf("packet %d of %d is %+v, published was %+v", i, len(got), g, published[at+i])
		}
	}
	return nil
}

// counts of packets of picture and of sound.
func counts(digests []digest) (video, audio int) {
	for _, d := range digests {
		switch d.Type {
		case tagVideo:
			video++
		case tagAudio:
			audio++
		}
	}
	return video, audio
}
