package relay

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/recordings"
	"github.com/sluice-go/sluice/flv"
)

// recordFiles are the files that a server has written.
func recordFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.flv"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

func recordRead(t *testing.T, name string) []rtmpFrame {
	t.Helper()
	p, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	d := flv.NewDecoder(sluice.NewBufReaderBytes(p))
	if _, err := d.ReadHeader(); err != nil {
		t.Fatal(err)
	}
	var list []rtmpFrame
	for {
		tag, err := d.Next()
		if err != nil {
			return list
		}
		list = append(list, rtmpFrame{tag.Type, tag.Time, string(tag.Payload.Bytes())})
		tag.Release()
	}
}

func TestRecordWhatIsPublished(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	s := rtmpServe(t, func(c *relayConfig) { c.Record = dir })
	for n := range 2 {
		p := rtmpPush(t, s, "rtmp", "live", "s")
		if err := p.send(rtmpClip()); err != nil {
			t.Fatal(err)
		}
		if err := p.c.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := p.status(); err != nil {
			t.Fatal(err)
		}
		r := s.host.Recorder.(*recorders).list()[0]
		rtmpUntil(t, "the recording has ended", func() bool { return r.Stats().Active == 0 && r.Stats().Files == int64(n+1) })
	}
	files := recordFiles(t, dir)
	if len(files) != 2 {
		t.Fatalf("files %q", files)
	}
	if p, err := os.ReadFile(files[0]); err != nil || !bytes.Contains(p, []byte("filepositions")) {
		t.Errorf("the file has no index, %v", err)
	}
	for _, f := range files {
		frames := recordRead(t, f)
		if len(frames) == 0 || frames[0].Type != flv.TagScript {
			t.Fatalf("%s has no metadata", f)
		}
		// The metadata has an index, too.
		rtmpCompare(t, f, frames[1:], rtmpClip()[1:])
	}
}

// A recording that has failed begins again when it can.
func TestRecordBeginsAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	s := rtmpServe(t, func(c *relayConfig) { c.Record = dir })
	r := s.host.Recorder.(*recorders).list()[0]
	r.Again = time.Millisecond
	block := filepath.Join(dir, "live")
	if err := os.WriteFile(block, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p := rtmpPush(t, s, "rtmp", "live", "s")
	if err := p.send(rtmpClip()[:50]); err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "the recording has failed more than once", func() bool { return r.Stats().Failed > 1 })
	if err := os.Remove(block); err != nil {
		t.Fatal(err)
	}
	if err := p.send(rtmpClip()[50:100]); err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "there is a file", func() bool { return r.Stats().Bytes > 0 })
	p.close()
	ctx, cancel := context.WithTimeout(context.Background(), rtmpTimeout)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	frames := recordRead(t, recordFiles(t, dir)[0])
	// Of the tags that came before it began the latest group of pictures is there.
	if len(frames) < 10 {
		t.Errorf("%d tags", len(frames))
	}
}

// The metrics say how many streams are not recorded, for as long as that is: a count of failures rises but once.
func TestStreamsThatAreNotRecordedAreCounted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	s := startRelay(t, func(c *relayConfig) { c.Record = dir })
	s.host.Recorder.(*recorders).list()[0].Again = time.Hour
	if err := os.WriteFile(filepath.Join(dir, "bad"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/bad/a.flv", "/bad/b.flv", "/live/s.flv"} {
		s.publishing(t, name).send(t, flvtest.Clip(t)[:50]...)
	}
	for _, line := range []string{"sluice_recordings 1", "sluice_recordings_waiting 2", "sluice_recording_failures_total 2", "sluice_recordings_total 3", "sluice_recording_dropped_frames_total 0"} {
		relayEventually(t, line, func() bool {
			_, text := s.get(t, "/metrics")
			return strings.Contains(text, "\n"+line+"\n")
		})
	}
}

// A publisher who comes back within the grace period goes on in the same file.
func TestRecordGoesOnAfterAShortBreak(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	s := rtmpServe(t, func(c *relayConfig) {
		c.Record = dir
		c.Grace = rtmpTimeout
	})
	for round := range int64(2) {
		p := rtmpPush(t, s, "rtmp", "live", "s")
		if err := p.send(rtmpClip()[:100]); err != nil {
			t.Fatal(err)
		}
		p.close()
		rtmpUntil(t, "the publisher is gone", func() bool {
			st, ok := s.host.Hub.Stream("live/s")
			return ok && st.Publisher() == nil && st.Stats().FramesIn == 100*(round+1)
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), rtmpTimeout)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil { // and not Close, which waits for no disk
		t.Error(err)
	}
	files := recordFiles(t, dir)
	if len(files) != 1 {
		t.Fatalf("files %q", files)
	}
	frames := recordRead(t, files[0])
	last := uint32(0)
	for i, f := range frames {
		if f.Time+100 < last {
			t.Errorf("tag %d goes back from %d ms to %d", i, last, f.Time)
		}
		last = max(last, f.Time)
	}
	// The second time, metadata and sequence headers say nothing new.
	if n := len(frames); n < 190 || n > 200 {
		t.Errorf("%d tags", n)
	}
}

// The stream goes on when the disk does not.
func TestRecordThatFailsHurtsNobody(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	s := rtmpServe(t, func(c *relayConfig) { c.Record = dir })
	if err := os.WriteFile(filepath.Join(dir, "live"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p := rtmpPush(t, s, "rtmp", "live", "s")
	if err := p.send(rtmpClip()[:50]); err != nil {
		t.Fatal(err)
	}
	r := s.host.Recorder.(*recorders).list()[0]
	rtmpUntil(t, "the recording has failed", func() bool { return r.Stats().Failed == 1 })
	v := rtmpDial(t, s, "rtmp", "live")
	if err := v.c.Play("s"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := v.receive(50); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, "live")); err != nil {
		t.Fatal(err)
	}
}

func TestRecordAfterTheEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	files, err := record.New(record.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	r := recordings.New(files)
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Begin(nil) // the stream is not looked at
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		t.Error("the directory is gone")
	}
}
