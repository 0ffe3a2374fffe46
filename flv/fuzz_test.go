package flv_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
)

// fuzzRefused checks an error that input may cause.
func fuzzRefused(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, flv.ErrSyntax) {
		t.Fatal(err)
	}
}

func FuzzTagHeader(f *testing.F) {
	for _, c := range tagWires {
		f.Add([]byte(c.wire))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		h, err := flv.ParseTagHeader(p)
		if err != nil {
			fuzzRefused(t, err)
			return
		}
		if h.Size > flv.MaxPayload || h.StreamID >= 1<<24 {
			t.Fatalf("%+v", h)
		}
		if got := h.Append(nil); !bytes.Equal(got, p[:flv.TagHeaderLen]) {
			t.Fatalf("%x became %+v and %x", p, h, got)
		}
	})
}

func FuzzVideoHeader(f *testing.F) {
	for _, c := range videoWires {
		f.Add([]byte(c.wire))
	}
	for _, wire := range videoWrongs {
		f.Add([]byte(wire))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		h, err := flv.ParseVideo(p)
		if err != nil {
			fuzzRefused(t, err)
			return
		}
		if h.Len < 1 || h.Len > len(p) || len(h.Body(p)) > len(p)-h.Len {
			t.Fatalf("%x: %+v", p, h)
		}
		if n := len(h.ModEx); h.Key() && h.Config() || h.Metadata() && (h.Key() || h.Config()) || n > h.Len {
			t.Fatalf("%x: %+v", p, h)
		}
		got := h.Append(nil)
		if !bytes.Equal(got, p[:h.Len]) {
			t.Fatalf("%x became %+v and %x", p, h, got)
		}
		again, err := flv.ParseVideo(got)
		if err != nil || !reflect.DeepEqual(again, h) {
			t.Fatalf("%+v became %+v, %v", h, again, err)
		}
	})
}

func FuzzAudioHeader(f *testing.F) {
	for _, c := range audioWires {
		f.Add([]byte(c.wire))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		h, err := flv.ParseAudio(p)
		if err != nil {
			fuzzRefused(t, err)
			return
		}
		if h.Len < 1 || h.Len > len(p) || len(h.Body(p)) > len(p)-h.Len {
			t.Fatalf("%x: %+v", p, h)
		}
		got := h.Append(nil)
		if !bytes.Equal(got, p[:h.Len]) {
			t.Fatalf("%x became %+v and %x", p, h, got)
		}
		again, err := flv.ParseAudio(got)
		if err != nil || !reflect.DeepEqual(again, h) {
			t.Fatalf("%+v became %+v, %v", h, again, err)
		}
	})
}

func FuzzConfig(f *testing.F) {
	video, audio := clipConfigs(f)
	f.Add(uint8(0), video)
	f.Add(uint8(3), audio)
	f.Add(uint8(1), append(make([]byte, 22), 1, 33, 0, 1, 0, 30, 0x42, 1, 1, 1, 0x60, 0, 0, 3, 0, 0x90, 0, 0, 3, 0, 0, 3, 0, 0x3c, 0xa0, 0x0a, 0x08, 0x0f, 0x16, 0x59))
	f.Add(uint8(2), []byte("\x81\x05\x0c\x00\x0a\x0b\x00\x00\x00\x2c\xcf\x7f\x0d\xbf\xff\x38\x18"))
	f.Add(uint8(4), []byte("OpusHead\x01\x02\x38\x01\x80\xbb\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, kind uint8, p []byte) {
		if kind < 3 {
			c, err := flv.ParseVideoConfig([]flv.FourCC{flv.CodecAVC, flv.CodecHEVC, flv.CodecAV1}[kind], p)
			if err != nil {
				fuzzRefused(t, err)
			} else if c.Width < 0 || c.Height < 0 || c.Width > 1<<18 || c.Height > 1<<18 || c.FrameRate < 0 {
				t.Fatalf("%+v", c)
			}
			return
		}
		c, err := flv.ParseAudioConfig([]flv.FourCC{flv.CodecAAC, flv.CodecOpus, flv.CodecFLAC}[kind%3], p)
		if err != nil {
			fuzzRefused(t, err)
		} else if c.Rate < 0 || c.Channels < 0 || c.Channels > 255 {
			t.Fatalf("%+v", c)
		}
	})
}

func FuzzScript(f *testing.F) {
	f.Add([]byte("\x02\x00\x0aonMetaData\x08\x00\x00\x00\x01\x00\x05width\x00\x40\x84\x00\x00\x00\x00\x00\x00\x00\x00\x09"))
	f.Add([]byte("\x02\x00\x0d@setDataFrame\x02\x00\x0aonMetaData\x03\x00\x00\x09"))
	f.Add([]byte("\x0c\x00\x00\x00\x0d@setDataFrame\x02\x00\x01n"))
	f.Add([]byte(walkClip()[0].payload))
	f.Fuzz(func(t *testing.T, p []byte) {
		rest := flv.StripSetDataFrame(p)
		if !bytes.HasSuffix(p, rest) || len(p)-len(rest) > 18 {
			t.Fatalf("%d of %d bytes are left", len(rest), len(p))
		}
		name, values, err := flv.ParseScript(rest)
		if err != nil {
			for _, known := range []error{io.ErrUnexpectedEOF, flv.ErrSyntax, amf0.ErrSyntax, amf0.ErrTooDeep, amf0.ErrTooMany} {
				if errors.Is(err, known) {
					return
				}
			}
			t.Fatal(err)
		}
		wire, err := flv.AppendScript(nil, name, values...)
		if err != nil {
			t.Fatal(err)
		}
		name2, values2, err := flv.ParseScript(wire)
		if err != nil || name2 != name || len(values2) != len(values) {
			t.Fatalf("%q with %d values became %q with %d, %v", name, len(values), name2, len(values2), err)
		}
	})
}

// FuzzDecoder decodes anything twice, from one piece and fed in small ones, and
// the two must agree; what was decoded is encoded and decoded again.
func FuzzDecoder(f *testing.F) {
	file, _ := small()
	f.Add(file, uint8(3))
	f.Add(flvclip.File[:3000], uint8(200))
	f.Add([]byte("FLV\x01\x05\x00\x00\x00\x0dlong\x00\x00\x00\x00\x09\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00few"), uint8(1))
	f.Add(bytes.Repeat([]byte("FLV\x01\x05\x00\x00\x00\x09"), 3), uint8(9))
	f.Fuzz(func(t *testing.T, p []byte, piece uint8) {
		whole := watchedReader(t)
		whole.Reset(bytes.NewReader(p))
		d := flv.NewDecoder(whole)
		h, tags, err := decodeAll(d, never)
		if err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, flv.ErrSyntax) {
			t.Fatal(err)
		}

		fed := watchedReader(t)
		fed.Reset(nil)
		rest := p
		h2, tags2, err2 := decodeAll(flv.NewDecoder(fed), func(err error) bool {
			if !errors.Is(err, sluice.ErrShort) {
				return false
			}
			if len(rest) == 0 {
				fed.FeedEnd(nil)
				return true
			}
			n := min(int(piece)+1, len(rest))
			if err := fed.FeedCopy(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
			return true
		})
		if h != h2 || !reflect.DeepEqual(tags, tags2) || (err == io.EOF) != (err2 == io.EOF) || errors.Is(err, flv.ErrSyntax) != errors.Is(err2, flv.ErrSyntax) {
			t.Fatalf("in one piece %+v, %d tags, %v; fed %+v, %d tags, %v", h, len(tags), err, h2, len(tags2), err2)
		}

		again := watchedReader(t)
		again.Reset(bytes.NewReader(fileOf(h, tags...)))
		_, tags3, err := decodeAll(flv.NewDecoder(again), never)
		if err != io.EOF || !reflect.DeepEqual(tags, tags3) {
			t.Fatalf("%d tags became %d, %v", len(tags), len(tags3), err)
		}
	})
}

// FuzzProbe reports on anything.
func FuzzProbe(f *testing.F) {
	file, _ := small()
	f.Add(file)
	f.Add(flvclip.File[:3000])
	f.Add(fileOf(flv.Header{Video: true}, packet(flv.TagVideo, 0, "\x12p"), packet(flv.TagVideo, 5000, "\x22p"), packet(flv.TagVideo, 1, "\x96\x11hvc1\x00\x00\x00\x07")))
	f.Fuzz(func(t *testing.T, p []byte) {
		r, err := flv.Probe(bytes.NewReader(p), flv.ProbeOptions{})
		if err != nil && err != io.EOF {
			fuzzRefused(t, err)
		}
		if r.Bytes > int64(len(p)) || r.Duration < 0 || len(r.String()) > 64<<10 {
			t.Fatalf("%+v", r)
		}
		if tr := r.Truncated; tr != nil && tr.Offset+tr.Bytes != int64(len(p)) {
			t.Fatalf("%+v of %d bytes", *tr, len(p))
		}
	})
}
