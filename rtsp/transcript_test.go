package rtsp_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtsp"
	"github.com/sluice-go/sluice/sluicetest"
)

func recorded(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(transcript)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(data)
}

// replay reads a client's side of a connection to its end and returns what a
// server makes of it, with a sum of all that was read. Deadlines are passed
// over: the call is repeated.
func replay(t testing.TB, br *sluice.BufReader) (p *pushed, sum uint64) {
	t.Helper()
	defer br.Recycle()
	p = new(pushed)
	h := fnv.New64a()
	r := rtsp.NewReader(br, rtsp.Limits{})
	for {
		item, err := r.Read()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		if err == io.EOF {
			return p, h.Sum64()
		}
		if err != nil {
			t.Fatalf("after %q: %v", p.methods, err)
		}
		if _, err := p.take(&item); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(h, describe(&item))
		item.Release()
	}
}

// describe is all that is in an item, as text.
func describe(item *rtsp.Item) string {
	body := func(b *mem.Buf) string {
		if !b.Valid() {
			return ""
		}
		return string(b.Bytes())
	}
	switch {
	case item.Request != nil:
		m := item.Request
		return fmt.Sprintf("%s %s %s %q %q", m.Method, m.URL, m.Version, m.Header, body(&m.Body))
	case item.Response != nil:
		m := item.Response
		return fmt.Sprintf("%s %d %s %q %q", m.Version, m.Status, m.Reason, m.Header, body(&m.Body))
	}
	return fmt.Sprintf("$%d %q", item.Interleaved.Channel, body(&item.Interleaved.Payload))
}

func TestTranscriptIsReadTheSameInEveryChunking(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	data := recorded(t)
	p, want := replay(t, sluice.NewBufReaderBytes(bytes.Clone(data)))
	checkPushed(t, p)
	if len(p.frames) != 17 || p.units != 21 {
		t.Errorf("%d frames and %d audio units, want 17 and 21", len(p.frames), p.units)
	}
	for name, from := range sluicetest.Chunkings(data) {
		if _, got := replay(t, sluice.NewBufReader(from)); got != want {
			t.Errorf("%s: not the same", name)
		}
	}
	for name, from := range sluicetest.TimeoutChunkings(data) {
		if _, got := replay(t, sluice.NewBufReader(from)); got != want {
			t.Errorf("%s with deadlines: not the same", name)
		}
	}
	for _, bufLen := range []int{16, 100, 1 << 20} {
		if _, got := replay(t, sluice.NewBufReaderWithBufLen(bytes.NewReader(data), bufLen)); got != want {
			t.Errorf("BufLen %d: not the same", bufLen)
		}
	}
}

// The beginning, with all requests but the last, is cut at every byte.
func TestTranscriptIsReadTheSameWhereverItIsCut(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	data := recorded(t)
	at := bytes.Index(data, []byte("RECORD "))
	if at < 0 {
		t.Fatal("no RECORD in the transcript")
	}
	at += bytes.Index(data[at:], []byte("\r\n\r\n")) + 4
	for range 3 { // frames
		if data[at] != '$' || at > 4<<10 {
			t.Fatalf("no short frame at %d", at)
		}
		at += 4 + int(data[at+2])<<8 + int(data[at+3])
	}
	data = data[:at]
	_, want := replay(t, sluice.NewBufReaderBytes(bytes.Clone(data)))
	for name, from := range sluicetest.Splits(data) {
		if _, got := replay(t, sluice.NewBufReader(from)); got != want {
			t.Errorf("%s: not the same", name)
		}
	}
}

// A server under an event loop reads from what it is fed, byte by byte here.
func TestTranscriptFedByteByByte(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	data := recorded(t)
	_, want := replay(t, sluice.NewBufReaderBytes(bytes.Clone(data)))
	br := sluice.NewBufReaderFed()
	defer br.Recycle()
	r := rtsp.NewReader(br, rtsp.Limits{})
	h := fnv.New64a()
	for i := 0; ; {
		item, err := r.Read()
		switch {
		case err == nil:
			fmt.Fprintln(h, describe(&item))
			item.Release()
		case errors.Is(err, sluice.ErrShort) && i < len(data):
			if err := br.FeedCopy(data[i : i+1]); err != nil {
				t.Fatal(err)
			}
			i++
		case errors.Is(err, sluice.ErrShort):
			br.FeedEnd(nil)
		case err == io.EOF && i == len(data):
			if h.Sum64() != want {
				t.Error("not the same")
			}
			return
		default:
			t.Fatalf("at byte %d: %v", i, err)
		}
	}
}

// A transcript that ends anywhere is an end between messages or within one.
func TestTranscriptCutOff(t *testing.T) {
	data := recorded(t)
	boundaries := map[int]bool{0: true}
	br := sluice.NewBufReaderBytes(bytes.Clone(data))
	r := rtsp.NewReader(br, rtsp.Limits{})
	for {
		item, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		item.Release()
		boundaries[len(data)-br.Buffered()] = true
	}
	br.Recycle()
	ends := map[bool]int{}
	for n := 0; n < len(data); n += 1 + n/300 {
		cutTranscript(t, data[:n], boundaries[n])
		ends[boundaries[n]]++
	}
	for n := range boundaries {
		cutTranscript(t, data[:n], true)
	}
	if ends[false] == 0 {
		t.Error("no cut within a message")
	}
}

func cutTranscript(t *testing.T, data []byte, boundary bool) {
	t.Helper()
	br := sluice.NewBufReaderBytes(bytes.Clone(data))
	defer br.Recycle()
	r := rtsp.NewReader(br, rtsp.Limits{})
	want := io.ErrUnexpectedEOF
	if boundary {
		want = io.EOF
	}
	for {
		item, err := r.Read()
		if err == nil {
			item.Release()
			continue
		}
		if !errors.Is(err, want) {
			t.Fatalf("cut at %d: %v, want %v", len(data), err, want)
		}
		if _, again := r.Read(); !errors.Is(again, want) {
			t.Fatalf("cut at %d, once more: %v", len(data), again)
		}
		return
	}
}
