package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
)

// recKeys reads the index of a file, and checks that it names key frames at
// their times.
func recKeys(t *testing.T, file []byte) (times []float64, meta amf0.ECMAArray) {
	t.Helper()
	_, tags := recRead(t, file)
	name, values, err := flv.ParseScript([]byte(tags[0].Body))
	if err != nil || name != "onMetaData" || len(values) != 1 {
		t.Fatalf("the first tag is %q with %d values, %v", name, len(values), err)
	}
	meta = values[0].(amf0.ECMAArray)
	keys, ok := meta.Get("keyframes")
	if !ok {
		return nil, meta
	}
	all, _ := keys.(amf0.Object).Get("times")
	places, _ := keys.(amf0.Object).Get("filepositions")
	for i, at := range all.(amf0.StrictArray) {
		place := int(places.(amf0.StrictArray)[i].(float64))
		h, err := flv.ParseTagHeader(file[place:])
		if err != nil {
			t.Fatalf("key frame %d at %d: %v", i, place, err)
		}
		v, err := flv.ParseVideo(file[place+flv.TagHeaderLen:])
		if err != nil || h.Type != flv.TagVideo || !v.Key() || float64(h.Time)/1000 != at.(float64) {
			t.Errorf("key frame %d: at %d there is %+v, %+v, %v; want the time %v", i, place, h, v, err, at)
		}
		times = append(times, at.(float64))
	}
	return times, meta
}

func TestIndexOfTheClip(t *testing.T) {
	r, dir := recNew(t, func(o *Options) { o.Index = true })
	if err := r.Record(context.Background(), "a/b", &recOnce{p: flvclip.File, calls: 0}); err != nil {
		t.Fatal(err)
	}
	name := recFiles(t, dir)[0]
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	times, meta := recKeys(t, file)
	if len(times) < 5 || times[1]-times[0] != 2 {
		t.Errorf("key frames at %v", times)
	}
	if meta.Number("filesize") != float64(len(file)) || meta.Number("width") != 640 && meta.Number("width") == 0 {
		t.Errorf("metadata: filesize %v of %d, width %v", meta.Number("filesize"), len(file), meta.Number("width"))
	}
	// A player seeks by it.
	out, err := exec.Command("ffmpeg", "-v", "error", "-nostdin", "-ss", "6", "-i", name, "-frames:v", "1", "-c", "copy", "-f", "framecrc", "-").CombinedOutput()
	if err != nil || strings.Count(string(out), "\n") < 2 || strings.Contains(string(out), "AMF") {
		t.Errorf("ffmpeg: %v: %s", err, out)
	}
}

// A file with fewer than two key frames, as of sound alone, has no index: ffmpeg warns of one.
func TestFewKeyFramesHaveNoIndex(t *testing.T) {
	for name, batch := range map[string][]recTag{
		"sound alone":   {recAudio(0, recAAC), recAudio(10, recSound), recAudio(1500, recSound)},
		"one key frame": {recVideo(0, recConfig), recVideo(0, recKey), recVideo(40, recInter)},
	} {
		r, _ := recNew(t, func(o *Options) { o.Index = true })
		file := &recFault{room: -1}
		r.create = func(string) (File, error) { return file, nil }
		if err := r.Record(context.Background(), "a/b", &recSource{batches: [][]recTag{batch}}); err != nil {
			t.Fatal(err)
		}
		_, meta := recKeys(t, file.data)
		if keys, ok := meta.Get("keyframes"); ok || meta.Number("filesize") != float64(len(file.data)) {
			t.Errorf("%s: an index %v, filesize %v of %d", name, keys, meta.Number("filesize"), len(file.data))
		}
	}
}

// The room that is reserved is taken by strings that ffmpeg reads, whatever is in front of
// them: 1,024 bytes are too many for it.
func TestReservedRoomIsReadByFFmpeg(t *testing.T) {
	for n := range 3 * spacerMost {
		x := &index{size: 100 + n, properties: []amf0.Property{{Name: "width", Value: 640.0}}}
		p := x.begin()
		if p == nil {
			continue // less than a property
		}
		_, values, err := flv.ParseScript(p)
		if err != nil || len(p) != x.size {
			t.Fatalf("%d bytes, want %d: %v", len(p), x.size, err)
		}
		for _, v := range values[0].(amf0.ECMAArray) {
			if text, ok := v.Value.(string); ok && len(text) >= 1024 {
				t.Fatalf("a string of %d bytes", len(text))
			}
		}
	}
}

// The index is thinned out when there are more key frames than it has room for,
// and is there also when the disk was full.
func TestIndexOfManyKeyFrames(t *testing.T) {
	for _, full := range []bool{false, true} {
		t.Run(fmt.Sprintf("full disk %v", full), func(t *testing.T) {
			r, _ := recNew(t, func(o *Options) { o.Index = true })
			file := &recFault{room: -1, err: syscall.ENOSPC}
			if full {
				file.room = 300_000
			}
			r.create = func(string) (File, error) { return file, nil }
			src := &recSource{batches: [][]recTag{{recVideo(0, recConfig)}}}
			for i := range uint32(10_000) {
				src.batches = append(src.batches, []recTag{recVideo(i*2000, recKey+"x"), recVideo(i*2000+40, recInter+"y")})
			}
			err := r.Record(context.Background(), "a/b", src)
			if full != errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			times, _ := recKeys(t, file.data)
			if len(times) < maxKeys/3 || len(times) > maxKeys {
				t.Errorf("%d key frames", len(times))
			}
			for i := 2; i < len(times); i++ {
				if times[i]-times[i-1] != times[1]-times[0] {
					t.Fatalf("key frames %d to %d are at %v", i-2, i, times[i-2:i+1])
				}
			}
		})
	}
}

// A file that is not closed, because the process was killed, has metadata
// without an index.
func TestIndexBeforeTheEnd(t *testing.T) {
	x := newIndex([]byte(recMeta), 24)
	p := x.begin()
	if len(p) != x.size || !bytes.HasPrefix(p, []byte(recMeta[:13])) {
		t.Fatalf("%d bytes of %d: %.30q", len(p), x.size, p)
	}
	if newIndex([]byte("?"), 24) != nil {
		t.Error("metadata that is none has an index")
	}
	for range maxKeys {
		x.add(keyFrame{})
	}
	if got := x.end(1<<40, 1<<31); len(got) != x.size {
		t.Errorf("%d bytes at the end, %d at the beginning", len(got), x.size)
	}
}
