package rtpmedia

import (
	"bytes"
	"encoding/base64"
	"slices"
	"testing"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// A sent packet is one as a camera sends it.
type sent struct {
	at      uint32
	marker  bool
	payload []byte
}

// collected returns the units that come of packets, with their timestamps.
func collected(t *testing.T, encoding string, params map[string]string, list []sent) (units [][]byte, at []uint32) {
	t.Helper()
	alloc := mem.New(mem.Options{})
	sluicetest.NoLeaks(t, alloc)
	video := encoding[0] == 'H'
	f, err := ParseFormat(video, 96, encoding, params)
	if err != nil {
		t.Fatal(err)
	}
	c := NewCollector(f, alloc, 1<<20, func(s Sample) error {
		units, at = append(units, bytes.Clone(s.Packed.Bytes()[au.Room:])), append(at, s.Timestamp)
		s.Packed.Release()
		return nil
	})
	defer c.Close()
	for i, one := range list {
		p, err := (&rtp.Packet{Header: rtp.Header{Version: 2, PayloadType: 96, SequenceNumber: uint16(i), Timestamp: one.at, Marker: one.marker}, Payload: one.payload}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		b := alloc.Get(len(p))
		copy(b.Bytes(), p)
		if err := c.Push(b, time.Unix(int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	return units, at
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, []byte{0, 0, 0, 1}) }

func TestPicturesAsCamerasPacketThem(t *testing.T) {
	sps, pps, sei := avcSets[0], avcSets[1], []byte{6, 5, 1, 0x80}
	key, slice := []byte{0x65, 1, 2, 3}, []byte{0x41, 4, 5, 6}
	first := au.AppendLengths(nil, [][]byte{sps, pps, sei, key})
	second := au.AppendLengths(nil, [][]byte{slice})
	hevc := func(kind byte) []byte { return []byte{kind << 1, 1, kind, 7} }
	fragments := func(p []byte, at int) (a, b []byte) {
		return append([]byte{p[0]&0xe0 | 28, p[0]&0x1f | 0x80}, p[1:at]...), append([]byte{p[0]&0xe0 | 28, p[0]&0x1f | 0x40}, p[at:]...)
	}
	all := join(sps, pps, sei, key)
	a, b := fragments(all, len(sps)+2) // inside a start code
	for name, c := range map[string]struct {
		encoding string
		list     []sent
		want     [][]byte
	}{
		"each unit marked":             {"H264/90000", []sent{{9, true, sps}, {9, true, pps}, {9, true, sei}, {9, true, key}, {12, true, slice}}, [][]byte{first, second}},
		"sets of an earlier time":      {"H264/90000", []sent{{7, true, sps}, {8, false, pps}, {8, true, sei}, {9, true, key}, {12, true, slice}}, [][]byte{first, second}},
		"start codes between units":    {"H264/90000", []sent{{9, true, all}, {12, true, slice}}, [][]byte{first, second}},
		"start codes before all units": {"H264/90000", []sent{{9, true, join(nil, sps, pps, sei, key)}, {12, true, join(nil, slice)}}, [][]byte{first, second}},
		"start codes in fragments":     {"H264/90000", []sent{{9, false, a}, {9, true, b}, {12, true, slice}}, [][]byte{first, second}},
		"slices behind start codes":    {"H264/90000", []sent{{9, true, all}, {12, true, join(slice, slice)}}, [][]byte{first, au.AppendLengths(nil, [][]byte{slice, slice})}},
		"packets of reserved types":    {"H264/90000", []sent{{9, false, []byte{31, 1}}, {9, false, sps}, {9, false, pps}, {9, false, []byte{0, 9}}, {9, false, sei}, {9, true, key}, {12, false, []byte{30}}, {12, true, slice}}, [][]byte{first, second}},
		"HEVC, each unit marked":       {"H265/90000", []sent{{9, true, hevc(32)}, {9, true, hevc(33)}, {9, true, hevc(34)}, {9, true, hevc(19)}}, [][]byte{au.AppendLengths(nil, [][]byte{hevc(32), hevc(33), hevc(34), hevc(19)})}},
		"HEVC with start codes":        {"H265/90000", []sent{{9, true, join(nil, hevc(32), hevc(33), hevc(34), hevc(19))}}, [][]byte{au.AppendLengths(nil, [][]byte{hevc(32), hevc(33), hevc(34), hevc(19)})}},
		"HEVC with an end of sequence": {"H265/90000", []sent{{9, false, hevc(19)}, {9, false, []byte{60 << 1, 1, 1}}, {9, true, []byte{36 << 1, 1}}}, [][]byte{au.AppendLengths(nil, [][]byte{hevc(19), {36 << 1, 1}})}},
	} {
		got, at := collected(t, c.encoding, nil, c.list)
		if !slices.EqualFunc(got, c.want, bytes.Equal) || len(at) > 0 && at[0] != 9 {
			t.Errorf("%s: at %d % x, want % x", name, at, got, c.want)
		}
	}
}

// A camera that sends nothing but parameter sets has no pictures, and takes no memory.
func TestParameterSetsWithoutPictures(t *testing.T) {
	var list []sent
	for i := range 3 * maxPackets {
		list = append(list, sent{uint32(i), true, avcSets[1]})
	}
	if units, _ := collected(t, "H264/90000", nil, list); len(units) > len(list)/16 {
		t.Errorf("%d units", len(units))
	}
}

// A picture of more units than a reader of the stream takes is left out, and there are no views of them all:
// of units of a byte each they had a dozen times the memory that is counted.
func TestPicturesOfTinyUnits(t *testing.T) {
	tiny := append([]byte{24}, bytes.Repeat([]byte{0, 1, 9}, 250)...) // H.264, STAP-A
	element := append([]byte{0}, bytes.Repeat([]byte{1, 0x30}, 250)...)
	for encoding, payload := range map[string][2][]byte{"H264/90000": {tiny, {0x65, 1, 2}}, "AV1/90000": {element, {0x10, 0x30, 1}}} {
		f, err := ParseFormat(true, 96, encoding, nil)
		if err != nil {
			t.Fatal(err)
		}
		alloc := mem.New(mem.Options{})
		sluicetest.NoLeaks(t, alloc)
		units := 0
		c := NewCollector(f, alloc, 1<<20, func(s Sample) error {
			units++
			s.Packed.Release()
			return nil
		})
		push := func(number int, at uint32, marker bool, payload []byte) {
			p, err := (&rtp.Packet{Header: rtp.Header{Version: 2, PayloadType: 96, SequenceNumber: uint16(number), Timestamp: at, Marker: marker}, Payload: payload}).Marshal()
			if err != nil {
				t.Fatal(err)
			}
			b := alloc.Get(len(p))
			copy(b.Bytes(), p)
			if err := c.Push(b, time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}
		const packets = 100
		for i := range packets {
			push(i, 1, i == packets-1, payload[0])
		}
		if n := cap(c.unit.pieces); units > 0 || n > 3*au.MaxUnits {
			t.Errorf("%s: %d pictures, and %d views, at most %d units are taken", encoding, units, n, au.MaxUnits)
		}
		if push(packets, 2, true, payload[1]); units != 1 {
			t.Errorf("%s: %d pictures behind it", encoding, units)
		}
		c.Close()
	}
}

func TestSoundInADTS(t *testing.T) {
	raw := []byte{0x21, 0x10, 5, 6, 7}
	n := 7 + len(raw)
	adts := append([]byte{0xff, 0xf1, 0x50, 0x80 | byte(n>>11), byte(n >> 3), byte(n<<5) | 0x1f, 0xfc}, raw...)
	params := map[string]string{"config": "1210", "sizelength": "13", "indexlength": "3", "indexdeltalength": "3"}
	header := func(p []byte) []byte { return []byte{0, 16, byte(len(p) >> 5), byte(len(p) << 3)} }
	got, _ := collected(t, "MPEG4-GENERIC/44100/2", params, []sent{{0, true, append(header(raw), raw...)}, {1024, true, append(header(adts), adts...)}, {2048, true, adts}})
	if !slices.EqualFunc(got, [][]byte{raw, raw, raw}, bytes.Equal) {
		t.Errorf("% x", got)
	}
}

func TestParameterSetsAsCamerasDescribeThem(t *testing.T) {
	for name, text := range map[string]string{
		"start codes": base64.StdEncoding.EncodeToString(join(nil, avcSets[0])) + "," + base64.StdEncoding.EncodeToString(join(nil, avcSets[1])),
		"no padding":  base64.RawStdEncoding.EncodeToString(avcSets[0]) + ", " + base64.RawStdEncoding.EncodeToString(avcSets[1]),
	} {
		f, err := ParseFormat(true, 96, "H264/90000", map[string]string{"sprop-parameter-sets": text})
		if err != nil || f.Config == nil || f.Config.Codec != flv.CodecAVC || !slices.EqualFunc(f.Config.Sets, avcSets, bytes.Equal) {
			t.Errorf("%s: %+v, %v", name, f.Config, err)
		}
	}
}

// Some cameras send a description of the source behind their report that cannot be read.
func TestReportsBesideWhatCannotBeRead(t *testing.T) {
	const ntp, timestamp = 0x1122334455667788, 90000
	report, err := (&rtcp.SenderReport{SSRC: 5, NTPTime: ntp, RTPTime: timestamp}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	unended := []byte{0x81, 202, 0, 3, 0, 0, 0, 5, 1, 6, 'c', 'a', 'm', 'e', 'r', 'a'}
	f, err := NewFormat(au.NewPlainConfig(flv.CodecALaw, 8000, 1))
	if err != nil {
		t.Fatal(err)
	}
	c := NewCollector(f, mem.Default(), 1<<20, func(Sample) error { return nil })
	defer c.Close()
	for name, p := range map[string][]byte{
		"alone": report, "before": slices.Concat(report, unended), "behind": slices.Concat(unended, report), "before the front of a packet": append(slices.Clip(report), 0x81),
	} {
		if n, at, ok := c.Control(p, time.Unix(0, 0)); n != ntp || at != timestamp || !ok {
			t.Errorf("%s: %x, %d, %v", name, n, at, ok)
		}
	}
	for _, p := range [][]byte{nil, {0x80}, unended, report[:27], slices.Concat([]byte{0x40}, report[1:]), make([]byte, 64)} {
		if n, at, ok := c.Control(p, time.Unix(0, 0)); ok {
			t.Errorf("% x: %x, %d", p, n, at)
		}
	}
}
