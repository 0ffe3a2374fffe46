package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvwalk"
	"github.com/sluice-go/sluice/sluicetest"
)

// recRandom makes a stream of a publisher who changes its mind. The body of
// each frame ends in the number of the sequence header that it needs, and in
// its own.
func recRandom(random *rand.Rand, n int) *recSource {
	src := &recSource{dropped: map[int]int{}}
	video, audio, now := 0, 0, random.Uint32()
	kinds := 6 + random.IntN(3)            // some have no video
	lag, heard := random.Uint32N(200), now // sound may come behind pictures, none goes back
	heard -= lag + 20
	sound := func(body string) recTag {
		heard += random.Uint32N(now - lag - heard + 1)
		return recAudio(heard, body)
	}
	for i := range n {
		var batch []recTag
		for range random.IntN(5) {
			now += random.Uint32N(50)
			at := now + random.Uint32N(20)
			unique := fmt.Sprintf("%d.%d", i, len(batch))
			switch k := random.IntN(kinds * 10); {
			case k == 0:
				audio = random.IntN(3)
				batch = append(batch, sound(fmt.Sprintf("%s:%d", recAAC, audio)))
			case k == 1:
				batch = append(batch, recTag{flv.TagScript, at, recMeta})
			case k == 2:
				batch = append(batch, recTag{flv.TagScript, at, "\x02\x00\x01x" + unique})
			case k == 3:
				batch = append(batch, recTag{15, at, unique})
			case k < 60:
				batch = append(batch, sound(fmt.Sprintf("%s:%d:%s", recSound, audio, unique)))
			case k == 60:
				video = random.IntN(3)
				batch = append(batch, recVideo(now, fmt.Sprintf("%s:%d", recConfig, video)))
			case k < 68:
				batch = append(batch, recVideo(now, fmt.Sprintf("%s:%d:%s", recKey, video, unique)))
			default:
				batch = append(batch, recVideo(now, fmt.Sprintf("%s:%d:%s", recInter, video, unique)))
			}
		}
		if random.IntN(50) == 0 {
			src.dropped[len(src.batches)] = 1 + random.IntN(10)
		}
		src.batches = append(src.batches, batch)
	}
	return src
}

// needs is the number of the sequence header in a body that recRandom made.
func needs(body string) string {
	parts := strings.Split(body, ":")
	return parts[1]
}

// Whatever a publisher does, each file begins with what its frames need, has
// frames of the stream in their order, begins at a key frame, and has the stream's times
// from its oldest frame on.
func TestRandomStreams(t *testing.T) {
	seed := sluicetest.Seed(t)
	for round := range 300 {
		random := rand.New(rand.NewPCG(seed, uint64(round)))
		src := recRandom(random, 200)
		var files []*recFault
		r, _ := recNew(t, nil)
		r.create = func(string) (File, error) {
			files = append(files, &recFault{room: -1})
			return files[len(files)-1], nil
		}
		if err := r.Record(context.Background(), "a/b", src); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		var all []recTag
		for _, b := range src.batches {
			all = append(all, b...)
		}
		seen := 0
		for i, f := range files {
			if f.closed != 1 {
				t.Fatalf("round %d, file %d: closed %d times", round, i, f.closed)
			}
			_, tags := recRead(t, f.data)
			var err error
			if seen, err = recInspect(tags, all, seen); err != nil {
				t.Fatalf("round %d, file %d of %d: %v", round, i, len(files), err)
			}
		}
	}
}

// recInspect looks at the tags of one file. Those of the stream before seen are
// in files before it; it returns how many are in this one too.
func recInspect(tags, all []recTag, seen int) (int, error) {
	var video, audio string // numbers of the sequence headers
	started, zero, hasVideo := false, uint32(0), false
	least := uint32(math.MaxUint32) // of the frames' times
	expected := false               // sound is: the stream had some before
	for i, tag := range tags {
		body := []byte(tag.Body)
		switch tag.Type {
		case flv.TagVideo:
			v, err := flv.ParseVideo(body)
			if err != nil {
				return seen, err
			}
			hasVideo = true
			if v.Config() {
				if video != "" && video != needs(tag.Body) {
					return seen, fmt.Errorf("tag %d: a second sequence header", i)
				}
				video = needs(tag.Body)
				continue
			}
			if !started && !v.Key() {
				return seen, errors.New("the file does not begin with a key frame")
			}
			if n := needs(tag.Body); n != video && video != "" {
				return seen, fmt.Errorf("tag %d needs sequence header %s, the file has %s", i, n, video)
			}
		case flv.TagAudio:
			a, err := flv.ParseAudio(body)
			if err != nil {
				return seen, err
			}
			if a.Config() {
				if audio != "" && audio != needs(tag.Body) {
					return seen, fmt.Errorf("tag %d: a second sequence header", i)
				}
				audio = needs(tag.Body)
				continue
			}
			if !started && hasVideo {
				return seen, errors.New("the file begins with sound although it has pictures")
			}
			if n := needs(tag.Body); n != audio && audio != "" {
				return seen, fmt.Errorf("tag %d needs sequence header %s, the file has %s", i, n, audio)
			}
		default:
			if isMetadata(body) {
				continue
			}
		}
		// A frame, or other data: find it in the stream.
		at := seen
		for at < len(all) && (all[at].Body != tag.Body || all[at].Type != tag.Type) {
			at++
		}
		if at == len(all) {
			return seen, fmt.Errorf("tag %d is not in the stream, or out of order: %q", i, tag.Body)
		}
		seen = at + 1
		if !started {
			started, zero = true, all[at].Time-tag.Time
			expected = slices.ContainsFunc(all[:at], func(t recTag) bool { return t.Type == flv.TagAudio })
		}
		want := int32(all[at].Time - zero)
		if tag.Type == flv.TagScript || !expected {
			want = max(want, 0)
		}
		if int32(tag.Time) != want {
			return seen, fmt.Errorf("tag %d has the time %d, want %d", i, tag.Time, want)
		}
		if tag.Type != flv.TagScript {
			least = min(least, tag.Time)
		}
	}
	if !started {
		return seen, errors.New("no frame")
	}
	if least != 0 {
		return seen, fmt.Errorf("the first frame has the time %d", least)
	}
	return seen, nil
}

// FuzzBatch gives a recording bytes of any kind as tags: it takes them or says
// what is wrong, and what it writes can be read.
func FuzzBatch(f *testing.F) {
	f.Add(append(recVideo(1, recConfig).bytes(), recVideo(2, recKey).bytes()...), byte(0))
	f.Add(append(recAudio(1<<31, recAAC).bytes(), recAudio(2, recSound).bytes()...), byte(1))
	f.Add(flvwalk.AppendHeader(nil, 5), byte(2))
	f.Add(recTag{flv.TagScript, 0, recMeta}.bytes()[:12], byte(3))
	f.Fuzz(func(t *testing.T, p []byte, dropped byte) {
		var files []*recFault
		r, _ := recNew(t, nil)
		r.create = func(string) (File, error) {
			files = append(files, &recFault{room: -1})
			return files[len(files)-1], nil
		}
		_ = r.Record(context.Background(), "a/b", &recOnce{p: p, dropped: int(dropped)})
		for _, file := range files {
			w := flvwalk.New(sluice.NewBufReader(bytes.NewReader(file.data)))
			for {
				_, err := w.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// recOnce gives bytes twice: the second time after a gap.
type recOnce struct {
	p       []byte
	dropped int
	calls   int
}

func (s *recOnce) Next(context.Context) ([]byte, int, error) {
	s.calls++
	switch s.calls {
	case 1:
		return s.p, 0, nil
	case 2:
		return s.p, s.dropped, nil
	}
	return nil, 0, io.EOF
}
