package tsmedia

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// A track that comes later comes through, whichever it is: pictures from a key frame on. Tables with
// the next version say it, the counters of packets have no gap, and the clock stays where it was.
func TestATrackThatComesLater(t *testing.T) {
	units, video, audio := clip(t)
	for _, pictures := range []bool{false, true} { // which comes later
		if pictures {
			video = nil
		} else {
			audio = nil
		}
		m, _, err := New(video, audio)
		if err != nil {
			t.Fatal(err)
		}
		_, video, audio = clip(t)
		var ts []byte
		var want []sample
		there, withSound := false, 0
		for i := range units {
			u := &units[i]
			later := i > len(units)/3
			if u.Video == pictures && !later {
				continue
			}
			p, err := m.Append(u)
			if err != nil {
				t.Fatal(err)
			}
			ts = append(ts, p...)
			// A player begins at a key frame, and needs the tables before it; where there are pictures they
			// need not stand before sound.
			if begins := len(p) > 0 && binary.BigEndian.Uint16(p[1:])&0x1fff == 0; u.Video && u.Key && !begins || there && !u.Video && begins {
				withSound++
				if u.Video {
					t.Errorf("pictures later %v: no tables stand before a key frame", pictures)
				}
			}
			if there = there || u.Video == pictures && u.Key; u.Video != pictures || there {
				want = append(want, clone(u))
			}
		}
		got, err := demux(t, bytes.NewReader(ts))
		if !errors.Is(err, io.EOF) || !there {
			t.Fatal(err)
		}
		compare(t, got, want, 1)
		if withSound > len(want)/20 {
			t.Errorf("pictures later %v: tables stand before %d frames of sound", pictures, withSound)
		}
		if said := tables(t, ts); !slices.Equal(said, []string{"version 0: 1 tracks, clock 256", "version 1: 2 tracks, clock 256"}) {
			t.Errorf("pictures later %v: %q", pictures, said)
		}
	}
}

// tables returns what the tables say, when it changes, and fails for counters with a gap.
func tables(t *testing.T, ts []byte) (list []string) {
	t.Helper()
	counters := map[uint16]uint8{}
	version := uint8(0)
	for p := ts; len(p) > 0; p = p[packetLen:] {
		pid, now := uint16(p[1]&0x1f)<<8|uint16(p[2]), p[3]&15
		if last, ok := counters[pid]; ok && now != (last+1)&15 {
			t.Fatalf("PID %d: the counter is %d behind %d", pid, now, last)
		}
		counters[pid] = now
		if pid != 0x1000 {
			continue
		}
		version = p[10] >> 1 & 31 // behind the header, a pointer and the section's first five bytes
		streams, length := 0, int(p[6]&15)<<8|int(p[7])
		for q := p[17 : 8+length-4]; len(q) >= 5; q = q[5+int(q[3]&15)<<8+int(q[4]):] {
			streams++
		}
		one := fmt.Sprintf("version %d: %d tracks, clock %d", version, streams, int(p[13]&0x1f)<<8|int(p[14]))
		if len(list) == 0 || list[len(list)-1] != one {
			list = append(list, one)
		}
	}
	return list
}

// A later track that is not carried is said once, and one that is carried takes its place.
func TestALaterTrackThatIsNotCarried(t *testing.T) {
	_, video, audio := clip(t)
	m, _, err := New(video, nil)
	if err != nil {
		t.Fatal(err)
	}
	var left []flv.FourCC
	m.LeftOut = func(c flv.FourCC) { left = append(left, c) }
	law := au.NewPlainConfig(flv.CodecALaw, 8000, 1)
	for range 3 {
		if p, err := m.Append(&au.Unit{Codec: law.Codec, Config: law, Key: true, Parts: [][]byte{{1}}}); err != nil || len(p) > 0 {
			t.Errorf("%d bytes, %v", len(p), err)
		}
	}
	if !slices.Equal(left, []flv.FourCC{flv.CodecALaw}) {
		t.Errorf("left out: %v", left)
	}
	if p, err := m.Append(&au.Unit{Codec: audio.Codec, Config: audio, Key: true, Parts: [][]byte{{0x21, 2, 3}}}); err != nil || len(p) == 0 {
		t.Errorf("%d bytes, %v", len(p), err)
	}
}
