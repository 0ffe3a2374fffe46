package record

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvwalk"
)

// recTag is a tag as the tests write and compare it.
type recTag struct {
	Type flv.TagType
	Time uint32
	Body string
}

// bytes is the tag as it stands in a file.
func (t recTag) bytes() []byte {
	return flvwalk.AppendTag(nil, flvwalk.Tag{Type: byte(t.Type), Time: t.Time, Data: []byte(t.Body)})
}

const (
	recMeta   = "\x02\x00\x0aonMetaData\x08\x00\x00\x00\x00\x00\x00\x09"
	recConfig = "\x17\x00\x00\x00\x00"
	recKey    = "\x17\x01\x00\x00\x00"
	recInter  = "\x27\x01\x00\x00\x00"
	recAAC    = "\xaf\x00\x12\x10"
	recSound  = "\xaf\x01"
)

func recVideo(time uint32, body string) recTag { return recTag{flv.TagVideo, time, body} }
func recAudio(time uint32, body string) recTag { return recTag{flv.TagAudio, time, body} }

// recSource gives batches of tags, and calls before with the number of each.
type recSource struct {
	batches [][]recTag
	dropped map[int]int // before the batch of that number
	before  func(n int)
	end     error // io.EOF unless set
	next    int
}

func (s *recSource) Next(context.Context) ([]byte, int, error) {
	n := s.next
	s.next++
	if s.before != nil {
		s.before(n)
	}
	if n >= len(s.batches) {
		if s.end != nil {
			return nil, 0, s.end
		}
		return nil, 0, io.EOF
	}
	var p []byte
	if n == 0 {
		p = flvwalk.AppendHeader(nil, 0)
	}
	for _, t := range s.batches[n] {
		p = append(p, t.bytes()...)
	}
	return p, s.dropped[n], nil
}

// recNew returns a recorder into a new directory, which it also returns.
func recNew(t *testing.T, change func(*Options)) (*Recorder, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "recordings")
	o := Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, dir
}

// recFiles lists the files below dir, by their names.
func recFiles(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// recRead returns the flags and tags of a file that ends between tags.
func recRead(t *testing.T, p []byte) (flags byte, tags []recTag) {
	t.Helper()
	w := flvwalk.New(sluice.NewBufReader(bytes.NewReader(p)))
	for {
		tag, err := w.Next()
		if errors.Is(err, io.EOF) {
			return w.Flags(), tags
		}
		if err != nil {
			t.Fatalf("after %d tags: %v", len(tags), err)
		}
		tags = append(tags, recTag{flv.TagType(tag.Type), tag.Time, string(tag.Data)})
	}
}

func recReadFile(t *testing.T, name string) (flags byte, tags []recTag) {
	t.Helper()
	p, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return recRead(t, p)
}

// recCompareFiles compares the tags of a stream's files, the oldest first.
func recCompareFiles(t *testing.T, dir, stream string, want [][]recTag) {
	t.Helper()
	files := recInOrder(t, dir, stream)
	if len(files) != len(want) {
		t.Fatalf("files %q, want %d", files, len(want))
	}
	for i, name := range files {
		t.Log(name)
		_, tags := recReadFile(t, name)
		recCompare(t, tags, want[i])
	}
}

// recCompare compares tags.
func recCompare(t *testing.T, got, want []recTag) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("tag %d is missing: %v at %d", i, want[i].Type, want[i].Time)
		case i >= len(want):
			t.Errorf("tag %d is too many: %v at %d", i, got[i].Type, got[i].Time)
		case got[i] != want[i]:
			t.Errorf("tag %d is %v at %d, %q; want %v at %d, %q", i, got[i].Type, got[i].Time, recHead(got[i].Body), want[i].Type, want[i].Time, recHead(want[i].Body))
		default:
			continue
		}
		return
	}
}

func recHead(s string) string { return s[:min(len(s), 16)] }

// recBig is a body of n bytes that begins with head.
func recBig(head string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	copy(b, head)
	binary.BigEndian.PutUint32(b[len(head):], uint32(n))
	return string(b)
}
