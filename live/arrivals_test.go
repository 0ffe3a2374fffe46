package live

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/sluice-go/sluice/flv"
)

// arrival is a tag and when its last byte came.
type arrival struct {
	tag
	at time.Time
}

// arrivals are those of an FLV file that comes bit by bit.
type arrivals struct {
	list []arrival
	file []byte
	rest int // where the bytes begin that are no whole tag yet
}

// add appends bytes that have come just now.
func (a *arrivals) add(p []byte, now time.Time) {
	a.file = append(a.file, p...)
	if a.rest == 0 {
		a.rest = 13
	}
	for len(a.file) >= a.rest+11 {
		size := int(binary.BigEndian.Uint32(a.file[a.rest:])&0xFFFFFF) + 15
		if len(a.file) < a.rest+size {
			break
		}
		tags, _ := readTags(a.file[a.rest : a.rest+size])
		a.list = append(a.list, arrival{tags[0], now})
		a.rest += size
	}
}

// read adds what r has until its end.
func (a *arrivals) read(r io.Reader) error {
	b := make([]byte, 64<<10)
	for {
		n, err := r.Read(b)
		a.add(b[:n], time.Now())
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// published says when the tags of a stream were published. No two of them are alike in time
// and size.
type published map[string]time.Time

func (p published) key(g tag) string { return fmt.Sprint(g.typ, g.time, len(g.body)) }

func (p published) add(g tag) { p[p.key(g)] = time.Now() }

// late returns how old sound and pictures were when they came, of those that came before
// the given time.
func (p published) late(list []arrival, before time.Time) (late []time.Duration) {
	for _, a := range list {
		if from, ok := p[p.key(a.tag)]; ok && a.typ != flv.TagScript && a.at.Before(before) { // metadata may come again
			late = append(late, a.at.Sub(from))
		}
	}
	return late
}

// again returns how many of the tags had come before, or are no tags of the stream: headers
// that are given again have the time of what follows them.
func (p published) again(list []arrival) (n int) {
	had := make(map[string]bool)
	for _, a := range list {
		k := p.key(a.tag)
		if _, ok := p[k]; !ok || had[k] {
			n++
		}
		had[k] = true
	}
	return n
}
