package tsmedia

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// A sample is a unit as the tests compare it.
type sample struct {
	video, key bool
	codec      flv.FourCC
	at         uint32
	offset     int32
	parts      [][]byte
}

func clone(u *au.Unit) sample {
	s := sample{u.Video, u.Key, u.Codec, u.Time, u.Offset, nil}
	for _, p := range u.Parts {
		if !u.Video || !au.IsSet(u.Codec, p) && au.NALType(u.Codec, p) != 9 {
			s.parts = append(s.parts, bytes.Clone(p))
		}
	}
	return s
}

// clip returns the units of a file of H.264 and AAC from its first key frame on.
func clip(t testing.TB) (units []au.Unit, video, audio *au.Config) {
	var s au.Splitter
	for tag := range au.Tags(flvclip.File) {
		u, ok, err := s.Split(tag.Type, tag.Time, tag.Body)
		if err != nil {
			t.Fatal(err)
		}
		if !ok || len(units) == 0 && !(u.Video && u.Key) {
			continue
		}
		u.Parts = slices.Clone(u.Parts)
		units = append(units, u)
	}
	video, audio = s.Configs()
	return units, video, audio
}

// mux makes a transport stream of units.
func mux(t testing.TB, units []au.Unit, video, audio *au.Config) (ts []byte) {
	m, missing, err := New(video, audio)
	if err != nil || len(missing) > 0 {
		t.Fatal(missing, err)
	}
	for i := range units {
		p, err := m.Append(&units[i])
		if err != nil || len(p) == 0 || len(p)%packetLen != 0 {
			t.Fatalf("unit %d: %d bytes, %v", i, len(p), err)
		}
		ts = append(ts, p...)
	}
	return ts
}

// demux reads a transport stream to its end.
func demux(t testing.TB, r io.Reader) (list []sample, err error) {
	t.Helper()
	var s au.Splitter
	err = Read(r, Options{Alloc: mem.Default(), MaxFrame: 1 << 20, Publish: func(f live.Frame) error {
		defer f.Payload.Release()
		u, ok, err := s.Split(f.Type, f.Time, f.Payload.Bytes())
		if err != nil {
			t.Error(err)
		}
		if ok {
			list = append(list, clone(&u))
		}
		return nil
	}})
	return list, err
}

// byKind splits samples: a transport stream says nothing of their order across tracks.
func byKind(list []sample) (kinds [2][]sample) {
	for _, s := range list {
		i := 1
		if s.video {
			i = 0
		}
		kinds[i] = append(kinds[i], s)
	}
	return kinds
}

func compare(t *testing.T, got, want []sample, missing int) {
	t.Helper()
	g, w := byKind(got), byKind(want)
	// All are moved by the same time.
	var shift uint32
	if len(g[0]) > 0 {
		shift = g[0][0].at - w[0][0].at
	} else if len(g[1]) > 0 {
		shift = g[1][0].at - w[1][0].at
	}
	for i := range g {
		if n := len(w[i]) - len(g[i]); n < 0 || n > missing {
			t.Fatalf("%d samples of kind %d, want %d", len(g[i]), i, len(w[i]))
		}
		for k, a := range g[i] {
			b := w[i][k]
			if d := int32(a.at - shift - b.at); d < -1 || d > 1 || a.key != b.key || a.codec != b.codec || a.offset-b.offset < -1 || a.offset-b.offset > 1 || !slices.EqualFunc(a.parts, b.parts, bytes.Equal) {
				t.Fatalf("kind %d, sample %d: %v at %d + %d, key %v, want %v at %d + %d, key %v", i, k, a.codec, a.at-shift, a.offset, a.key, b.codec, b.at, b.offset, b.key)
			}
		}
	}
}

func TestAClipThereAndBackIsTheSame(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	units, video, audio := clip(t)
	var want []sample
	for i := range units {
		want = append(want, clone(&units[i]))
	}
	ts := mux(t, units, video, audio)
	for name, r := range map[string]io.Reader{
		"at once":                 bytes.NewReader(ts),
		"in halves":               iotest.HalfReader(bytes.NewReader(ts)),
		"behind something else":   io.MultiReader(bytes.NewReader(make([]byte, 300)), bytes.NewReader(ts)),
		"with the end in the way": iotest.DataErrReader(bytes.NewReader(ts)),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := demux(t, r)
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			compare(t, got, want, 1) // the last unit of each track has no end
		})
	}
}

func unhex(t testing.TB, text string) []byte {
	p, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCodecsThereAndBack(t *testing.T) {
	hevc, err := au.NewVideoConfig(flv.CodecHEVC, [][]byte{
		unhex(t, "40010c01ffff0408000003009e0800000300001e959809"),
		unhex(t, "4201010408000003009e0800000300001e9002840f2cb2b349265780b7020200000400000300040000030028"+"20"), unhex(t, "4401c172860c462427"),
	})
	if err != nil {
		t.Fatal(err)
	}
	mp3 := append([]byte{0xff, 0xfb, 0x90, 0xc0}, make([]byte, 413)...)
	slow := append([]byte{0xff, 0xf3, 0x80, 0xc0}, make([]byte, 204)...) // 22.05 kHz
	for _, c := range []struct {
		video, audio *au.Config
		parts        func(i int) []byte
	}{
		{hevc, au.NewOpusConfig(2), func(i int) []byte { return []byte{0xfc, byte(i), 2, 3} }},
		{nil, au.NewOpusConfig(1), func(i int) []byte { return []byte{0xfc, byte(i), 2, 3} }},
		{nil, au.SoundConfig(flv.CodecMP3, mp3), func(i int) []byte { return mp3 }},
		{nil, au.SoundConfig(flv.CodecMP3, slow), func(i int) []byte { return slow }},
	} {
		var units []au.Unit
		var want []sample
		for i := range 50 {
			if c.video != nil {
				part := []byte{0x02, 1, 5, byte(i + 1)} // a unit does not end with 0
				if i%10 == 0 {
					part[0] = 0x26
				}
				units = append(units, au.Unit{Video: true, Codec: c.video.Codec, Config: c.video, Time: uint32(i * 40), Offset: 80, Key: i%10 == 0, Parts: [][]byte{part}})
			}
			units = append(units, au.Unit{Codec: c.audio.Codec, Config: c.audio, Time: uint32(i * 40), Key: true, Parts: [][]byte{c.parts(i)}})
		}
		for i := range units {
			want = append(want, clone(&units[i]))
		}
		got, err := demux(t, bytes.NewReader(mux(t, units, c.video, c.audio)))
		if !errors.Is(err, io.EOF) || len(got) < 45 {
			t.Errorf("%d samples: %v", len(got), err)
		}
		compare(t, got, want, 1)
	}
}

func TestWhatIsNotCarried(t *testing.T) {
	av1, opus := &au.Config{Codec: flv.CodecAV1}, au.NewOpusConfig(2)
	if m, missing, err := New(av1, opus); err != nil || !slices.Equal(missing, []flv.FourCC{flv.CodecAV1}) || m.video != nil {
		t.Errorf("%v, %v", missing, err)
	}
	if _, missing, err := New(av1, au.NewPlainConfig(flv.CodecALaw, 8000, 1)); !errors.Is(err, ErrCodec) || len(missing) != 2 {
		t.Errorf("%v, %v", missing, err)
	}
	_, video, audio := clip(t)
	m, _, err := New(video, audio)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Append(&au.Unit{Codec: flv.CodecOpus, Config: opus, Parts: [][]byte{{1}}}); !errors.Is(err, au.ErrChanged) {
		t.Errorf("another codec: %v", err)
	}
}

// Memory follows what is a unit, not what a peer begins and never ends.
func TestHostileStreams(t *testing.T) {
	units, video, audio := clip(t)
	ts := mux(t, units[:40], video, audio)
	endless := func(make func(i int) []byte) io.Reader {
		i := 0
		return readerFunc(func(p []byte) (int, error) {
			if i++; i > 1<<20 {
				return 0, io.ErrNoProgress // it should have been refused long before
			}
			return copy(p, make(i)), nil
		})
	}
	packet := func(pid int, begins bool, counter int) []byte {
		p := make([]byte, packetLen)
		p[0], p[1], p[2], p[3] = syncByte, byte(pid>>8), byte(pid), 0x10|byte(counter&15)
		if begins {
			p[1] |= 0x40
		}
		return p
	}
	for name, c := range map[string]struct {
		r    io.Reader
		want error
	}{
		"nothing but zeros":         {endless(func(int) []byte { return make([]byte, packetLen) }), ErrSyntax},
		"no tables":                 {endless(func(i int) []byte { return packet(0x1fff, false, i) }), ErrSyntax},
		"a unit without an end":     {io.MultiReader(bytes.NewReader(ts), endless(func(i int) []byte { return packet(256, false, i) })), ErrTooLong},
		"a table without an end":    {endless(func(i int) []byte { return packet(0, i == 1, i) }), ErrSyntax},
		"many streams":              {io.MultiReader(bytes.NewReader(ts), endless(func(i int) []byte { return packet(300+i%7000, true, i) })), ErrSyntax},
		"something else in between": {io.MultiReader(bytes.NewReader(ts), endless(func(int) []byte { return make([]byte, 100) })), ErrSyntax},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := demux(t, c.r); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Packets that are lost and broken cost units, and never more.
func TestBrokenStreams(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	units, video, audio := clip(t)
	ts := mux(t, units, video, audio)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		var p []byte
		for at := 0; at < len(ts); at += packetLen {
			one := bytes.Clone(ts[at : at+packetLen])
			switch r.IntN(50) {
			case 0:
				continue
			case 1:
				one[r.IntN(packetLen)] ^= 1 << r.IntN(8)
			case 2:
				one = one[:r.IntN(packetLen)]
			}
			p = append(p, one...)
		}
		if _, err := demux(t, bytes.NewReader(p)); err == nil {
			t.Errorf("seed %d: no end", seed)
		}
	}
}

func FuzzRead(f *testing.F) {
	units, video, audio := clip(f)
	f.Add(mux(f, units[:3], video, audio)[:packetLen*12])
	f.Add(make([]byte, packetLen))
	f.Fuzz(func(t *testing.T, p []byte) {
		if _, err := demux(t, bytes.NewReader(p)); err == nil {
			t.Error("no end")
		}
	})
}
