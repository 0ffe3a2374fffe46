package sluice_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/sluice-go/sluice"
)

func TestViewHasWhatIsInHandBeforeAnyRead(t *testing.T) {
	in := []byte("in hand")
	r := sluice.NewBufReaderBytes(in)
	if got := r.View(); string(got) != "in hand" || &got[0] != &in[0] {
		t.Errorf("View of bytes in hand is %q", got)
	}
	fed := sluice.NewBufReaderFed()
	if err := fed.Feed([]byte("fed")); err != nil {
		t.Fatal(err)
	}
	if got := string(fed.View()); got != "fed" {
		t.Errorf("View after Feed is %q", got)
	}
	_ = fed.Skip(3)
	fed.FeedEnd(nil)
	if _, err := fed.ReadByte(); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
}

// TestLargeReadsPassTheWindow reads into a slice that is large enough for the
// source to fill directly.
func TestLargeReadsPassTheWindow(t *testing.T) {
	data := testData(100_000)
	var into *byte
	src := bytes.NewReader(data)
	r := sluice.NewBufReader(readerFunc(func(p []byte) (int, error) {
		into = &p[0]
		return src.Read(p)
	}))
	p := make([]byte, 8<<10)
	n, err := r.Read(p)
	if err != nil || n != len(p) || into != &p[0] {
		t.Fatalf("Read returned %d, %v, and was not read into directly", n, err)
	}
	if err := r.UnreadByte(); err != nil {
		t.Fatal(err)
	}
	c, err := r.ReadByte()
	if err != nil || c != data[n-1] {
		t.Errorf("the byte taken back is %d, %v, want %d", c, err, data[n-1])
	}
	rest, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(rest, data[n:]) {
		t.Errorf("the rest is %d bytes, %v, want %d", len(rest), err, len(data)-n)
	}
	if r.TotalRead() != int64(len(data)) {
		t.Errorf("TotalRead is %d, want %d", r.TotalRead(), len(data))
	}
}
