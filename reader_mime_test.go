package sluice_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/textproto"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// headers feed the comparison with textproto and the fuzzer. strict is set
// where ours refuses what textproto lets pass: a name that is not a token, with
// a space in it or before its colon.
var headers = []struct {
	text   string
	strict bool
}{
	{text: "\r\n"},
	{text: "\n"},
	{text: "CSeq: 1\r\nUser-Agent: x\r\n\r\nbody"},
	{text: "cseq: 1\nUSER-AGENT: x\n\nbody"},
	{text: "A: 1\r\nB: 2\r\nA: 3\r\na: 4\r\n\r\n"},
	{text: "Empty:\r\nBlank:   \t \r\n\r\n"},
	{text: "Padded: \t  value \t \r\n\r\n"},
	{text: "No-Space:value:with:colons\r\n\r\n"},
	{text: "Long: one\r\n two\r\n\tthree  \r\n   \t four\r\nNext: 5\r\n\r\n"},
	{text: "Late:\r\n value\r\n\r\n"},
	{text: "Late:  \r\n  \r\n \t\r\n value\r\n\r\n"},
	{text: "Gap: a\r\n \r\n b\r\n\r\n"},
	{text: "Obs: caf\xe9 \xff\r\n\r\n"},
	{text: "Tab: a\tb\r\n\r\n"},
	{text: "x-1!#$%&'*+-.^_`|~: odd\r\n\r\n"},
	{text: "content-TYPE: text/html\r\nwww-authenticate: Basic\r\n\r\n"},
	{text: "A: " + strings.Repeat("v", 5000) + "\r\n\r\n"},
	{text: strings.Repeat("K: v\r\n", 900) + "\r\n"},

	{text: " first: continued\r\n\r\n"},
	{text: "\tfirst: continued\r\n\r\n"},
	{text: "no colon\r\n\r\n"},
	{text: ": no name\r\n\r\n"},
	{text: "Ok: 1\r\nno colon\r\n\r\n"},
	{text: "Ok: 1\r\n: no name\r\n\r\n"},
	{text: "B\x00d: 1\r\n\r\n"},
	{text: "B\xe9d: 1\r\n\r\n"},
	{text: "B(d): 1\r\n\r\n"},
	{text: "Tab\t: 1\r\n\r\n"},
	{text: "Nul: a\x00b\r\n\r\n"},
	{text: "Smuggled: a\rSet-Cookie: b\r\n\r\n"},
	{text: "Smuggled: a\r\n b\rSet-Cookie: c\r\n\r\n"},
	{text: "Bell: \a\r\n\r\n"},
	{text: "Del: \x7f\r\n\r\n"},
	{text: "Extra: CR\r\r\n\r\n"},
	{text: ""},
	{text: "Cut: off"},
	{text: "Cut: off\r\n"},
	{text: "Cut: off\r\n cont"},
	{text: "Cut: off\r\n\r"},

	{text: "Host : 1\r\n\r\n", strict: true},
	{text: "Two Words: 1\r\n\r\n", strict: true},
}

// isToken is the rule for names once more, in other words than the reader's.
func isToken(name string) bool {
	return name != "" && strings.Trim(name, "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == "" &&
		!strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) })
}

// agreeWithTextproto reads text by both readers, and returns ours' error.
func agreeWithTextproto(t *testing.T, text string) error {
	t.Helper()
	buffered := bufio.NewReader(strings.NewReader(text))
	theirs, errTheirs := textproto.NewReader(buffered).ReadMIMEHeader()
	r := readerOf(t, mem.Default(), 0, strings.NewReader(text))
	defer r.Recycle()
	ours, errOurs := r.ReadMIMEHeader()
	if errOurs != nil {
		if ours != nil || r.TotalRead() != int64(r.Buffered()) {
			t.Fatalf("%q: failed with %v and consumed %d bytes, header %q", text, errOurs, r.TotalRead()-int64(r.Buffered()), ours)
		}
		if errTheirs == nil {
			for name := range theirs {
				if !isToken(name) {
					return errOurs
				}
			}
			if !errors.Is(errOurs, sluice.ErrTooLong) {
				t.Fatalf("%q: %v, textproto reads %q", text, errOurs, theirs)
			}
		}
		return errOurs
	}
	if errTheirs != nil {
		t.Fatalf("%q: %q, textproto says %v", text, ours, errTheirs)
	}
	if !reflect.DeepEqual(ours, theirs) {
		t.Fatalf("%q: %q, textproto reads %q", text, ours, theirs)
	}
	rest, _ := io.ReadAll(r)
	want, _ := io.ReadAll(buffered)
	if !bytes.Equal(rest, want) {
		t.Fatalf("%q: %q is left, textproto leaves %q", text, rest, want)
	}
	return nil
}

func TestMIMEHeaderAgreesWithTextproto(t *testing.T) {
	for _, h := range headers {
		err := agreeWithTextproto(t, h.text)
		if h.strict {
			var p textproto.ProtocolError
			if !errors.As(err, &p) {
				t.Errorf("%q: %v, want a ProtocolError", h.text, err)
			}
		}
	}
}

func TestMIMEHeaderIsTheSameOverEveryChunking(t *testing.T) {
	for _, h := range headers {
		if h.text == "" || len(h.text) > 1000 {
			continue
		}
		want, wantErr := readerOf(t, paranoid(t), 0, strings.NewReader(h.text)).ReadMIMEHeader()
		each := func(name string, src io.Reader) {
			r := readerOf(t, paranoid(t), 16, src)
			got, err := r.ReadMIMEHeader()
			for errors.Is(err, os.ErrDeadlineExceeded) {
				got, err = r.ReadMIMEHeader()
			}
			if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("%q, %s: %q, %v; want %q, %v", h.text, name, got, err, want, wantErr)
			}
		}
		for name, src := range sluicetest.Chunkings([]byte(h.text)) {
			each(name, src)
		}
		for name, src := range sluicetest.TimeoutChunkings([]byte(h.text)) {
			each(name, src)
		}
		for name, src := range sluicetest.Splits([]byte(h.text)) {
			each(name, src)
		}
	}
}

func TestMIMEHeaderErrorsSayWhatWasWrong(t *testing.T) {
	for _, c := range []struct{ text, part string }{
		{"no colon at all\r\n\r\n", `"no colon at all"`},
		{" indented: 1\r\n\r\n", "initial line"},
		{"X: a\x00b\r\n\r\n", `\x00`},
		{strings.Repeat("n", 1000) + "\r\n\r\n", "..."},
	} {
		_, err := readerOf(t, paranoid(t), 0, strings.NewReader(c.text)).ReadMIMEHeader()
		var p textproto.ProtocolError
		if !errors.As(err, &p) || !strings.Contains(err.Error(), c.part) || len(err.Error()) > 200 {
			t.Errorf("%.50q: %v", c.text, err)
		}
		if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
			t.Errorf("%.50q: the error has control characters: %q", c.text, err)
		}
	}
}

func TestMIMEHeaderLimits(t *testing.T) {
	limits := sluice.Options{Line: 100, Header: 10_000}
	field := func(n int) string { return "K: " + strings.Repeat("v", n-5) + "\r\n" } // n bytes
	for _, c := range []struct {
		name, text string
		ok         bool
	}{
		{"line at its limit", field(100) + "\r\n", true},
		{"line above", field(101) + "\r\n", false},
		{"fields at their limit", strings.Repeat(field(6), 1000) + "\r\n", true},
		{"fields above", strings.Repeat(field(6), 1001) + "\r\n", false},
		{"header at its limit", strings.Repeat(field(99), 100) + field(98) + "\r\n", true},
		{"header above", strings.Repeat(field(99), 100) + field(99) + "\r\n", false},
		{"endless continuation", "K: v\r\n" + strings.Repeat(" v\r\n", 4000) + "\r\n", false},
	} {
		r := readerOf(t, paranoid(t), 0, strings.NewReader(c.text))
		r.SetLimits(limits)
		h, err := r.ReadMIMEHeader()
		if c.ok != (err == nil) || !c.ok && !errors.Is(err, sluice.ErrTooLong) {
			t.Errorf("%s: %d names, %v", c.name, len(h), err)
		}
		// What was refused is still there: other limits may accept it.
		r.SetLimits(sluice.Options{})
		if !c.ok {
			if _, err := r.ReadMIMEHeader(); (err != nil) != (c.name == "fields above") {
				t.Errorf("%s: with the default limits: %v", c.name, err)
			}
		}
	}
}

// TestHostileHeadersAreCheap gives headers that a peer could send without end,
// and bounds what reading them costs.
func TestHostileHeadersAreCheap(t *testing.T) {
	for _, c := range []struct {
		name   string
		repeat string
		most   uint64
	}{
		{"one endless line", "x", 1 << 20},
		{"endless value", "K: v", 1 << 20},
		{"endless fields", "K: v\r\n", 1 << 20},
		{"fields of different names", "", 1 << 20},
		{"endless continuation", " v\r\n", 8 << 20},
		{"empty continuations", "\t\r\n", 8 << 20},
	} {
		n := 0
		src := readerFunc(func(p []byte) (int, error) {
			if n == 0 {
				n++
				return copy(p, "First: 1\r\n"), nil
			}
			k := 0
			for k < len(p) {
				piece := c.repeat
				if piece == "" {
					n++
					piece = fmt.Sprintf("K%d: v\r\n", n)
				}
				if k+len(piece) > len(p) {
					if k == 0 {
						piece = piece[:len(p)] // never of whole fields: it is malformed then
					} else {
						break
					}
				}
				k += copy(p[k:], piece)
			}
			return k, nil
		})
		a := mem.New(mem.Options{})
		r := readerOf(t, a, 0, src)
		got := allocated(func() {
			if _, err := r.ReadMIMEHeader(); err == nil {
				t.Errorf("%s: was accepted", c.name)
			}
		})
		if got > c.most {
			t.Errorf("%s: %d bytes were allocated, at most %d", c.name, got, c.most)
		}
		if out := a.Stats().OutBytes; out > 4<<20 {
			t.Errorf("%s: %d bytes are checked out", c.name, out)
		}
	}
}

func TestMIMEHeaderInsideAMark(t *testing.T) {
	const text = "start\r\nA: 1\r\nB: 2\r\n\r\nbody"
	r := readerOf(t, paranoid(t), 16, strings.NewReader(text))
	r.Mark()
	if _, err := r.ReadLine(); err != nil {
		t.Fatal(err)
	}
	h, err := r.ReadMIMEHeader()
	if err != nil || len(h) != 2 {
		t.Fatalf("%q, %v", h, err)
	}
	if _, err := r.ReadMIMEHeader(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("a body was read as a header: %v", err)
	}
	if p, err := r.Peek(4); string(p) != "body" || err != nil {
		t.Fatalf("after a header that failed: %q, %v", p, err)
	}
	r.Rollback()
	if rest, err := io.ReadAll(r); string(rest) != text || err != nil {
		t.Fatalf("after Rollback: %q, %v", rest, err)
	}
}

// FuzzMIMEHeader holds the header reader against textproto, and writes what it
// read again: reading that must give the same.
func FuzzMIMEHeader(f *testing.F) {
	for _, h := range headers {
		f.Add(h.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if agreeWithTextproto(t, text) != nil {
			return
		}
		h, err := readerOf(t, mem.Default(), 0, strings.NewReader(text)).ReadMIMEHeader()
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for _, name := range slices.Sorted(maps.Keys(h)) {
			for _, v := range h[name] {
				fmt.Fprintf(&out, "%s: %s\r\n", name, v)
			}
		}
		out.WriteString("\r\n")
		again, err := readerOf(t, mem.Default(), 0, strings.NewReader(out.String())).ReadMIMEHeader()
		if err != nil {
			t.Fatalf("%q, written again as %q: %v", text, out.String(), err)
		}
		// Space at the end of a value, left by a continuation of nothing, does
		// not survive.
		for name, values := range h {
			for i := range values {
				values[i] = strings.TrimRight(values[i], " \t")
			}
			if !slices.Equal(values, again[name]) {
				t.Fatalf("%q, written again as %q, reads %q", text, out.String(), again)
			}
		}
	})
}
