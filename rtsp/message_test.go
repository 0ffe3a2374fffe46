package rtsp_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtsp"
	"github.com/sluice-go/sluice/sluicetest"
)

// message is a row of the table that reading, writing and fuzzing share.
type message struct {
	name string
	text string
	item rtsp.Item
	body string
	// again is how the message is written, where that is not text.
	again string
}

var messages = []message{
	{
		name: "request",
		text: "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n",
		item: rtsp.Item{Request: &rtsp.Request{Method: "OPTIONS", URL: "*", Version: "RTSP/1.0", Header: rtsp.Header{{"CSeq", "1"}}}},
	},
	{
		name: "request without fields",
		text: "TEARDOWN rtsp://h/x RTSP/2.0\r\n\r\n",
		item: rtsp.Item{Request: &rtsp.Request{Method: "TEARDOWN", URL: "rtsp://h/x", Version: "RTSP/2.0"}},
	},
	{
		name:  "body, loose spelling",
		text:  "\r\n\nANNOUNCE rtsp://h/x RTSP/1.0\nCSeq :  2 \ncontent-length:3\r\nContent-Type:\tapplication/sdp \t\r\nx-empty:\r\n\r\na\r\n",
		item:  rtsp.Item{Request: &rtsp.Request{Method: "ANNOUNCE", URL: "rtsp://h/x", Version: "RTSP/1.0", Header: rtsp.Header{{"CSeq", "2"}, {"content-length", "3"}, {"Content-Type", "application/sdp"}, {"x-empty", ""}}}},
		body:  "a\r\n",
		again: "ANNOUNCE rtsp://h/x RTSP/1.0\r\nCSeq: 2\r\nContent-Type: application/sdp\r\nx-empty: \r\nContent-Length: 3\r\n\r\na\r\n",
	},
	{
		name:  "folded lines, fields of one name, an equal length twice",
		text:  "SET_PARAMETER rtsp://h/x RTSP/1.0\r\nRequire: one,\r\n two,\r\n\t \r\n\t three \r\nrequire: four\r\nx:\r\n y\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
		item:  rtsp.Item{Request: &rtsp.Request{Method: "SET_PARAMETER", URL: "rtsp://h/x", Version: "RTSP/1.0", Header: rtsp.Header{{"Require", "one, two, three"}, {"require", "four"}, {"x", "y"}, {"Content-Length", "0"}, {"Content-Length", "0"}}}},
		again: "SET_PARAMETER rtsp://h/x RTSP/1.0\r\nRequire: one, two, three\r\nrequire: four\r\nx: y\r\n\r\n",
	},
	{
		name: "response",
		text: "RTSP/1.0 454 Session Not Found\r\nCSeq: 7\r\nContent-Length: 2\r\n\r\nno",
		item: rtsp.Item{Response: &rtsp.Response{Version: "RTSP/1.0", Status: 454, Reason: "Session Not Found", Header: rtsp.Header{{"CSeq", "7"}, {"Content-Length", "2"}}}},
		body: "no",
	},
	{
		name: "response without a reason",
		text: "RTSP/1.0 200 \r\n\r\n",
		item: rtsp.Item{Response: &rtsp.Response{Version: "RTSP/1.0", Status: 200}},
	},
	{
		name:  "response without the space either",
		text:  "RTSP/2.0 999\r\nA: b\r\n\r\n",
		item:  rtsp.Item{Response: &rtsp.Response{Version: "RTSP/2.0", Status: 999, Header: rtsp.Header{{"A", "b"}}}},
		again: "RTSP/2.0 999 \r\nA: b\r\n\r\n",
	},
	{
		name:  "a response that has no body whatever it says",
		text:  "RTSP/1.0 304 Not Modified\r\nContent-Length: 20\r\n\r\n",
		item:  rtsp.Item{Response: &rtsp.Response{Version: "RTSP/1.0", Status: 304, Reason: "Not Modified", Header: rtsp.Header{{"Content-Length", "20"}}}},
		again: "RTSP/1.0 304 Not Modified\r\n\r\n",
	},
	{
		name: "an extension method, a URL and a value beyond ASCII",
		text: "X-Do.It! rtsp://h/Ümläut?a=b;c,d RTSP/1.0\r\nCSeq: 1\r\nUser-Agent: \xff\xfe Kamera\r\n\r\n",
		item: rtsp.Item{Request: &rtsp.Request{Method: "X-Do.It!", URL: "rtsp://h/Ümläut?a=b;c,d", Version: "RTSP/1.0", Header: rtsp.Header{{"CSeq", "1"}, {"User-Agent", "\xff\xfe Kamera"}}}},
	},
	{name: "frame", text: "$\x01\x00\x05RTSP/", body: "RTSP/", item: rtsp.Item{Interleaved: rtsp.Interleaved{Channel: 1}}},
	{name: "empty frame", text: "$\xff\x00\x00", item: rtsp.Item{Interleaved: rtsp.Interleaved{Channel: 255}}},
	{name: "largest frame", text: "$\x00\xff\xff" + strings.Repeat("$", 65535), body: strings.Repeat("$", 65535)},
	{name: "frame after an empty line", text: "\r\n$\x02\x00\x01x", body: "x", item: rtsp.Item{Interleaved: rtsp.Interleaved{Channel: 2}}, again: "$\x02\x00\x01x"},
}

// everything is all messages one after the other.
func everything() []byte {
	var all []byte
	for _, m := range messages {
		all = append(all, m.text...)
	}
	return all
}

// checkMessage compares an item with a row. The item stays the caller's.
func checkMessage(t *testing.T, name string, got rtsp.Item, want message) {
	t.Helper()
	body := func(b *mem.Buf) (text string) {
		if b.Valid() {
			text = string(b.Bytes())
		}
		return text
	}
	var text string
	switch {
	case got.Request != nil && want.item.Request != nil:
		text = body(&got.Request.Body)
		bare := rtsp.Request{Method: got.Request.Method, URL: got.Request.URL, Version: got.Request.Version, Header: got.Request.Header}
		if !reflect.DeepEqual(&bare, want.item.Request) {
			t.Errorf("%s: got %+v, want %+v", name, bare, want.item.Request)
		}
	case got.Response != nil && want.item.Response != nil:
		text = body(&got.Response.Body)
		bare := rtsp.Response{Version: got.Response.Version, Status: got.Response.Status, Reason: got.Response.Reason, Header: got.Response.Header}
		if !reflect.DeepEqual(&bare, want.item.Response) {
			t.Errorf("%s: got %+v, want %+v", name, bare, want.item.Response)
		}
	case got.Request == nil && got.Response == nil && want.item.Request == nil && want.item.Response == nil:
		text = body(&got.Interleaved.Payload)
		if got.Interleaved.Channel != want.item.Interleaved.Channel {
			t.Errorf("%s: channel %d, want %d", name, got.Interleaved.Channel, want.item.Interleaved.Channel)
		}
	default:
		t.Errorf("%s: got %s", name, describe(&got))
	}
	if text != want.body {
		t.Errorf("%s: body %.60q, want %.60q", name, text, want.body)
	}
}

func TestMessagesAreReadInEveryChunking(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	for name, from := range sluicetest.Chunkings(everything()) {
		br := sluice.NewBufReader(from)
		r := rtsp.NewReader(br, rtsp.Limits{})
		for _, m := range messages {
			item, err := r.Read()
			if err != nil {
				t.Fatalf("%s, %s: %v", name, m.name, err)
			}
			checkMessage(t, name+", "+m.name, item, m)
			item.Release()
		}
		if _, err := r.Read(); err != io.EOF {
			t.Errorf("%s: at the end: %v", name, err)
		}
		br.Recycle()
	}
}

// writeItem writes what was read, whose memory is transferred.
func writeItem(w *sluice.BufWriter, item rtsp.Item) error {
	switch {
	case item.Request != nil:
		return rtsp.WriteRequest(w, item.Request)
	case item.Response != nil:
		return rtsp.WriteResponse(w, item.Response)
	}
	return rtsp.WriteInterleaved(w, item.Interleaved.Channel, item.Interleaved.Payload)
}

func TestMessagesAreWrittenAsTheyWereRead(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	for _, m := range messages {
		br := sluice.NewBufReaderBytes([]byte(m.text))
		item, err := rtsp.NewReader(br, rtsp.Limits{}).Read()
		br.Recycle()
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		var out bytes.Buffer
		w := sluice.NewBufWriter(&out)
		if err := errors.Join(writeItem(w, item), w.Flush()); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		w.Recycle()
		want := m.text
		if m.again != "" {
			want = m.again
		}
		if out.String() != want {
			t.Errorf("%s: wrote\n%.300q, want\n%.300q", m.name, out.String(), want)
		}
	}
}

func TestWhatCannotBeReadIsNotWritten(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	body := func() mem.Buf { return mem.Default().Get(10_000) }
	request := func(change func(*rtsp.Request)) func(*sluice.BufWriter) error {
		m := &rtsp.Request{Method: "PLAY", URL: "rtsp://h/x", Header: rtsp.Header{{"CSeq", "1"}}, Body: body()}
		change(m)
		return func(w *sluice.BufWriter) error { return rtsp.WriteRequest(w, m) }
	}
	response := func(change func(*rtsp.Response)) func(*sluice.BufWriter) error {
		m := &rtsp.Response{Status: 200, Reason: "OK", Body: body()}
		change(m)
		return func(w *sluice.BufWriter) error { return rtsp.WriteResponse(w, m) }
	}
	for name, c := range map[string]struct {
		write func(*sluice.BufWriter) error
		want  error
	}{
		"no method":            {request(func(m *rtsp.Request) { m.Method = "" }), rtsp.ErrSyntax},
		"method of two words":  {request(func(m *rtsp.Request) { m.Method = "PLAY IT" }), rtsp.ErrSyntax},
		"method like a frame":  {request(func(m *rtsp.Request) { m.Method = "$PLAY" }), rtsp.ErrSyntax},
		"method like a status": {request(func(m *rtsp.Request) { m.Method = "RTSP/1.0" }), rtsp.ErrSyntax},
		"no URL":               {request(func(m *rtsp.Request) { m.URL = "" }), rtsp.ErrSyntax},
		"URL with a space":     {request(func(m *rtsp.Request) { m.URL = "rtsp://h/a b" }), rtsp.ErrSyntax},
		"URL with a line":      {request(func(m *rtsp.Request) { m.URL = "rtsp://h/\r\nX:" }), rtsp.ErrSyntax},
		"version":              {request(func(m *rtsp.Request) { m.Version = "HTTP/1.1" }), rtsp.ErrVersion},
		"name with a space":    {request(func(m *rtsp.Request) { m.Header.Add("a b", "c") }), rtsp.ErrSyntax},
		"no name":              {request(func(m *rtsp.Request) { m.Header.Add("", "c") }), rtsp.ErrSyntax},
		"value of two lines":   {request(func(m *rtsp.Request) { m.Header.Add("a", "b\r\nc: d") }), rtsp.ErrSyntax},
		"value with a CR":      {request(func(m *rtsp.Request) { m.Header.Add("a", "b\rc") }), rtsp.ErrSyntax},
		"transfer coding":      {request(func(m *rtsp.Request) { m.Header.Add("transfer-encoding", "chunked") }), rtsp.ErrSyntax},
		"status too small":     {response(func(m *rtsp.Response) { m.Status = 99 }), rtsp.ErrSyntax},
		"status too large":     {response(func(m *rtsp.Response) { m.Status = 1000 }), rtsp.ErrSyntax},
		"reason of two lines":  {response(func(m *rtsp.Response) { m.Reason = "a\nb" }), rtsp.ErrSyntax},
		"body of a 304":        {response(func(m *rtsp.Response) { m.Status = 304 }), rtsp.ErrSyntax},
		"response version":     {response(func(m *rtsp.Response) { m.Version = "RTSP/3.0" }), rtsp.ErrVersion},
		"long frame": {func(w *sluice.BufWriter) error {
			return rtsp.WriteInterleaved(w, 0, mem.Default().Get(65536))
		}, rtsp.ErrTooLong},
	} {
		var out bytes.Buffer
		w := sluice.NewBufWriter(&out)
		if err := c.write(w); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if n := w.Buffered(); n != 0 {
			t.Errorf("%s: %d bytes were written", name, n)
		}
		w.Recycle()
	}
}

// Memory that was transferred to a writer that fails is let go.
func TestWritingToWhatFailsReleases(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	w := sluice.NewBufWriter(io.Discard)
	w.Recycle()
	req := &rtsp.Request{Method: "PLAY", URL: "*", Body: mem.Default().Get(100)}
	if err := rtsp.WriteRequest(w, req); !errors.Is(err, sluice.ErrClosed) || req.Body.Valid() {
		t.Errorf("request: %v, body %v", err, req.Body.Valid())
	}
	if err := rtsp.WriteInterleaved(w, 0, mem.Default().Get(100)); !errors.Is(err, sluice.ErrClosed) {
		t.Errorf("frame: %v", err)
	}
}

func TestReplyRepeatsWhatItMust(t *testing.T) {
	req := &rtsp.Request{Version: rtsp.Version20, Header: rtsp.Header{{"cseq", "17"}, {"Session", "x"}, {"Timestamp", "0.5"}}}
	got := req.Reply(461)
	want := &rtsp.Response{Version: rtsp.Version20, Status: 461, Reason: "Unsupported Transport", Header: rtsp.Header{{"CSeq", "17"}, {"Timestamp", "0.5"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if rtsp.StatusText(299) == "" {
		t.Error("no text for an unknown status")
	}
}

func TestHeader(t *testing.T) {
	h := rtsp.Header{{"CSeq", "1"}, {"Via", "a"}, {"cseq", "2"}, {"VIA", "b"}, {"X", "y"}}
	if got := h.Get("CSEQ"); got != "1" {
		t.Errorf("Get: %q", got)
	}
	if got := h.Values("via"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("Values: %q", got)
	}
	if _, ok := h.Lookup("Z"); ok || h.Get("Z") != "" {
		t.Error("Lookup found what is not there")
	}
	h.Set("cSeq", "3")
	h.Set("New", "n")
	h.Del("vIa")
	if want := (rtsp.Header{{"CSeq", "3"}, {"X", "y"}, {"New", "n"}}); !slices.Equal(h, want) {
		t.Errorf("got %q, want %q", h, want)
	}
	for text, want := range map[string]int64{"0": 0, "4294967295": 4294967295, "007": 7, "": -1, "-1": -1, "+1": -1, "4294967296": -1, "1 2": -1, "0x1": -1} {
		n, err := rtsp.Header{{"CSeq", text}}.CSeq()
		if want < 0 && !errors.Is(err, rtsp.ErrSyntax) || want >= 0 && (err != nil || int64(n) != want) {
			t.Errorf("CSeq %q: %d, %v", text, n, err)
		}
	}
	if _, err := (rtsp.Header{}).CSeq(); !errors.Is(err, rtsp.ErrSyntax) {
		t.Errorf("no CSeq: %v", err)
	}
}
