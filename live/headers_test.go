package live

import (
	"testing"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
)

// Headers stay for as long as the stream does and count for no ring: a publisher with 64 tracks, each with a sequence
// header as long as a frame may be, held half a gigabyte whatever the hub's limit.
func TestWhatHeadersTakeIsBounded(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p, err := h.Publish("live/s", PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	send := func(typ flv.TagType, head string, n int) {
		t.Helper()
		b := make([]byte, len(head)+n)
		copy(b, head)
		if err := p.Publish(Frame{Type: typ, Payload: mem.Wrap(b, nil)}); err != nil {
			t.Fatal(err)
		}
	}
	held := func() (script, bytes int) {
		p.Stream().Headers(func(typ flv.TagType, body []byte) {
			if bytes += len(body); typ == flv.TagScript {
				script += len(body)
			}
		})
		return script, bytes
	}
	const meta = "\x02\x00\x0aonMetaData"
	send(flv.TagScript, meta, maxMetaBytes-len(meta))
	for track := range 64 {
		send(flv.TagVideo, "\x96\x00avc1"+string(rune(track)), 1<<20)
		send(flv.TagVideo, "\x96\x00avc1"+string(rune(track)), 10<<10)
	}
	if script, all := held(); script != maxMetaBytes || all > maxHeaderBytes || all < maxHeaderBytes-20<<10 {
		t.Errorf("metadata of %d bytes, %d bytes in all", script, all)
	}
	// Another one in its place that is too long leaves none, and not the old one.
	send(flv.TagScript, meta, maxMetaBytes)
	if script, _ := held(); script != 0 {
		t.Errorf("metadata of %d bytes, which does not hold any more", script)
	}
	send(flv.TagScript, meta, 100)
	if script, _ := held(); script != len(meta)+100 {
		t.Errorf("metadata of %d bytes", script)
	}
}
