package rtsp_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtsp"
	"github.com/sluice-go/sluice/sluicetest"
)

func TestWrongInputIsAnErrorThatStays(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	const start = "OPTIONS * RTSP/1.0\r\n"
	for _, c := range []struct {
		text string
		want error
		says string
	}{
		{"\x00\x01\x02\n", rtsp.ErrSyntax, `"\x00\x01\x02"`},
		{"OPTIONS\r\n", rtsp.ErrSyntax, "request line"},
		{"OPTIONS *\r\n", rtsp.ErrSyntax, "request line"},
		{"OPTIONS  * RTSP/1.0\r\n", rtsp.ErrSyntax, "request line"},
		{"OPTIONS * RTSP/1.0 \r\n", rtsp.ErrVersion, `"RTSP/1.0 "`},
		{" OPTIONS * RTSP/1.0\r\n", rtsp.ErrSyntax, "request line"},
		{"OP(IONS * RTSP/1.0\r\n", rtsp.ErrSyntax, "request line"},
		{"OPTIONS rtsp://h/\x7f RTSP/1.0\r\n", rtsp.ErrSyntax, "request line"},
		{"OPTIONS rtsp://h/\r RTSP/1.0\r\n", rtsp.ErrSyntax, "request line"},
		{"OPTIONS * rtsp/1.0\r\n", rtsp.ErrSyntax, "version"},
		{"OPTIONS * RTSP/3.0\r\n", rtsp.ErrVersion, "RTSP/3.0"},
		{"GET /live HTTP/1.0\r\n", rtsp.ErrVersion, "HTTP/1.0"},
		{"RTSP/1.1 200 OK\r\n", rtsp.ErrVersion, "RTSP/1.1"},
		{"RTSP/1.0 OK\r\n", rtsp.ErrSyntax, "status line"},
		{"RTSP/1.0 20 OK\r\n", rtsp.ErrSyntax, "status line"},
		{"RTSP/1.0 2000 OK\r\n", rtsp.ErrSyntax, "status line"},
		{"RTSP/1.0 099 OK\r\n", rtsp.ErrSyntax, "status line"},
		{"RTSP/1.0 -20 OK\r\n", rtsp.ErrSyntax, "status line"},
		{"RTSP/1.0  200 OK\r\n", rtsp.ErrSyntax, "status line"},
		{"RTSP/1.0 200 O\x00K\r\n", rtsp.ErrSyntax, "status line"},
		{start + " folded\r\n", rtsp.ErrSyntax, "first header line"},
		{start + "CSeq\r\n", rtsp.ErrSyntax, "header line"},
		{start + ": 1\r\n", rtsp.ErrSyntax, "header line"},
		{start + "C Seq: 1\r\n", rtsp.ErrSyntax, "header line"},
		{start + "CSeq: 1\x00\r\n", rtsp.ErrSyntax, "header line"},
		{start + "CSeq: 1\rX: 2\r\n", rtsp.ErrSyntax, "header line"},
		{start + "Content-Length: -5\r\n\r\n", rtsp.ErrSyntax, "-5"},
		{start + "Content-Length: +5\r\n\r\n", rtsp.ErrSyntax, "+5"},
		{start + "Content-Length: 0x5\r\n\r\n", rtsp.ErrSyntax, "0x5"},
		{start + "Content-Length: 5, 5\r\n\r\n", rtsp.ErrSyntax, "5, 5"},
		{start + "Content-Length: \r\n\r\n", rtsp.ErrSyntax, "Content-Length"},
		{start + "Content-Length: 99999999999999999999\r\n\r\n", rtsp.ErrSyntax, "9999"},
		{start + "Content-Length: 9999999999999999999\r\n\r\n", rtsp.ErrTooLong, "9999"},
		{start + "Content-Length: 4\r\nCONTENT-LENGTH: 5\r\n\r\n", rtsp.ErrSyntax, "5"},
		{start + "Transfer-Encoding: chunked\r\n\r\n", rtsp.ErrSyntax, "Transfer-Encoding"},
		{start + "Content-Length: 101\r\n\r\n", rtsp.ErrTooLong, "limit 100"},
		{start + "A: " + strings.Repeat("a", 200) + "\r\n\r\n", rtsp.ErrTooLong, "limit 150"},
		{strings.Repeat("a", 200), rtsp.ErrTooLong, "limit 150"},
		{start + strings.Repeat("A: b\r\n", 10) + "\r\n", rtsp.ErrTooLong, "fields"},
		{start + "A: b\r\n" + strings.Repeat(" "+strings.Repeat("b", 100)+"\r\n", 10) + "\r\n", rtsp.ErrTooLong, "header"},
		{strings.Repeat("\r\n", 17) + start + "\r\n", rtsp.ErrTooLong, "empty lines"},
		{"$\x00\x00\xc9", rtsp.ErrTooLong, "limit 200"},
		{start + "\r", io.ErrUnexpectedEOF, "header"},
		{start, io.ErrUnexpectedEOF, "header"},
		{"OPT", io.ErrUnexpectedEOF, "first line"},
		{start + "Content-Length: 3\r\n\r\nab", io.ErrUnexpectedEOF, "body"},
		{start + "Content-Length: 3\r\n\r\n", io.ErrUnexpectedEOF, "body"},
		{"$", io.ErrUnexpectedEOF, "interleaved"},
		{"$\x00\x00", io.ErrUnexpectedEOF, "interleaved"},
		{"$\x00\x00\x02", io.ErrUnexpectedEOF, "interleaved"},
		{"$\x00\x00\x02a", io.ErrUnexpectedEOF, "interleaved"},
	} {
		br := sluice.NewBufReader(strings.NewReader(c.text))
		r := rtsp.NewReader(br, rtsp.Limits{Line: 150, Header: 500, Fields: 9, Body: 100, Interleaved: 200})
		for try := range 2 {
			item, err := r.Read()
			if err == nil {
				item.Release()
				t.Errorf("%.60q: read %.80s", c.text, describe(&item))
				break
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "rtsp: ") {
				t.Errorf("%.60q, try %d: %v, want %v with %q", c.text, try, err, c.want, c.says)
			}
			if len(err.Error()) > 250 {
				t.Errorf("%.60q: an error of %d bytes", c.text, len(err.Error()))
			}
		}
		br.Recycle()
	}
}

func TestLimitsAreReached(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	l := rtsp.Limits{Line: 150, Header: 500, Fields: 9, Body: 100, Interleaved: 200}
	text := strings.Repeat("\r\n", 16) + "OPTIONS * RTSP/1.0\r\nContent-Length: 100\r\n" + strings.Repeat("A: b\r\n", 8) + "\r\n" + strings.Repeat("x", 100) +
		"$\x00\x00\xc8" + strings.Repeat("x", 200) + strings.Repeat("\n", 16) + "OPTIONS * RTSP/1.0\r\nA:" + strings.Repeat("a", 146) + "\r\n\r\n"
	br := sluice.NewBufReader(strings.NewReader(text))
	defer br.Recycle()
	r := rtsp.NewReader(br, l)
	for i := range 3 {
		item, err := r.Read()
		if err != nil {
			t.Fatalf("item %d: %v", i, err)
		}
		item.Release()
	}
	if _, err := r.Read(); err != io.EOF {
		t.Error(err)
	}
}

// repeat is a reader of p over and over again, of n bytes in all.
type repeat struct {
	p    []byte
	n, i int
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	n := min(len(p), len(r.p)-r.i, r.n)
	copy(p, r.p[r.i:r.i+n])
	r.i = (r.i + n) % len(r.p)
	r.n -= n
	return n, nil
}

// The limits bound what a message makes a Reader allocate, whatever its lines
// contain and whatever length it announces.
func TestHostileMessagesAllocateLittle(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	const budget = 256 << 10 // bytes of allocation for each message
	for name, text := range map[string]string{
		"endless line":           "X",
		"endless fields":         "A: b\r\n",
		"endless folded lines":   " x\r\n",
		"endless empty folds":    " \r\n",
		"endless empty lines":    "\r\n",
		"endless binary zeroes":  "\x00",
		"endless long fields":    "A: " + strings.Repeat("v", 8000) + "\r\n",
		"endless shortest field": "A:\n",
	} {
		start := "OPTIONS * RTSP/1.0\r\nA: b\r\n"
		if name == "endless empty lines" {
			start = ""
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		br := sluice.NewBufReader(io.MultiReader(strings.NewReader(start), &repeat{p: []byte(text), n: 4 << 20}))
		r := rtsp.NewReader(br, rtsp.Limits{})
		_, err := r.Read()
		br.Recycle()
		runtime.ReadMemStats(&after)
		n := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %d bytes allocated", name, n)
		if n > budget {
			t.Errorf("%s: that is more than %d", name, budget)
		}
		if !errors.Is(err, rtsp.ErrTooLong) && !errors.Is(err, rtsp.ErrSyntax) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClaimedLengthsAllocateNothing(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	a := mem.New(mem.Options{})
	for range 100 {
		br := &sluice.BufReader{Allocator: a}
		br.Reset(strings.NewReader("ANNOUNCE * RTSP/1.0\r\nContent-Length: 4000000\r\n\r\nfew"))
		_, err := rtsp.NewReader(br, rtsp.Limits{Body: 4 << 20}).Read()
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
		if n := a.Stats().OutBytes; n > 16<<10 {
			t.Fatalf("%d bytes are out", n)
		}
		br.Recycle()
	}
}

// A header that comes byte by byte is not parsed from its beginning each time:
// the work is that of its bytes.
func TestFedHeaderIsParsedOnce(t *testing.T) {
	var text bytes.Buffer
	text.WriteString("OPTIONS * RTSP/1.0\r\n")
	for i := range 120 {
		fmt.Fprintf(&text, "Field-%d: %s\r\n", i, strings.Repeat("v", 200))
	}
	text.WriteString("\r\n")
	br := sluice.NewBufReaderFed()
	defer br.Recycle()
	r := rtsp.NewReader(br, rtsp.Limits{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	calls := 0
	for p := text.Bytes(); ; p = p[1:] {
		item, err := r.Read()
		calls++
		if err == nil {
			if len(item.Request.Header) != 120 {
				t.Errorf("%d fields", len(item.Request.Header))
			}
			break
		}
		if !errors.Is(err, sluice.ErrShort) {
			t.Fatal(err)
		}
		if err := br.FeedCopy(p[:1]); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 64*uint64(text.Len())+1<<20 {
		t.Errorf("%d bytes allocated in %d calls for a header of %d", n, calls, text.Len())
	}
}

// Without budget for a body or a payload the call is repeated when there is
// some, and goes on where it stopped.
func TestReadGoesOnAfterTheBudgetWasUsedUp(t *testing.T) {
	for _, text := range []string{
		"ANNOUNCE * RTSP/1.0\r\nContent-Length: 20000\r\n\r\n" + strings.Repeat("x", 20000),
		"$\x05\x4e\x20" + strings.Repeat("x", 20000),
	} {
		a := mem.New(mem.Options{Budget: 64 << 10})
		sluicetest.NoLeaks(t, a)
		br := &sluice.BufReader{Allocator: a}
		br.Reset(nil)
		r := rtsp.NewReader(br, rtsp.Limits{})
		// In two pieces the body has to be brought together in a block.
		for _, piece := range []string{text[:5000], text[5000:]} {
			if err := br.Feed([]byte(piece)); err != nil {
				t.Fatal(err)
			}
		}
		hog := a.Get(64 << 10)
		for range 3 {
			if _, err := r.Read(); !errors.Is(err, mem.ErrBudget) {
				t.Fatalf("%.10q: %v", text, err)
			}
		}
		hog.Release()
		item, err := r.Read()
		if err != nil {
			t.Fatalf("%.10q: %v", text, err)
		}
		b := &item.Interleaved.Payload
		if item.Request != nil {
			b = &item.Request.Body
		}
		if b.Len() != 20000 {
			t.Errorf("%.10q: %d bytes", text, b.Len())
		}
		item.Release()
		br.Recycle()
	}
}
