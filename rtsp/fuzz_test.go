package rtsp_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/rtsp"
)

// FuzzRead reads arbitrary bytes. What a good item promises is checked, it is
// written and read again, and the same bytes fed one by one must give the same
// items and the same end.
func FuzzRead(f *testing.F) {
	for _, m := range messages {
		if len(m.text) < 1000 {
			f.Add([]byte(m.text))
		}
	}
	f.Add([]byte(messages[2].text + messages[4].text + messages[9].text))
	limits := rtsp.Limits{Line: 300, Header: 1000, Fields: 10, Body: 500, Interleaved: 1000}
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, end := fuzzItems(t, sluice.NewBufReaderBytes(bytes.Clone(data)), limits, nil)
		fed, fedEnd := fuzzItems(t, sluice.NewBufReaderFed(), limits, data)
		if !reflect.DeepEqual(whole, fed) || end.Error() != fedEnd.Error() && !sameKind(end, fedEnd) {
			t.Fatalf("whole: %q, %v\nfed: %q, %v", whole, end, fed, fedEnd)
		}
	})
}

// sameKind compares errors whose texts have the numbers of what was there.
func sameKind(a, b error) bool {
	for _, kind := range []error{rtsp.ErrSyntax, rtsp.ErrVersion, rtsp.ErrTooLong, io.ErrUnexpectedEOF, io.EOF} {
		if errors.Is(a, kind) != errors.Is(b, kind) {
			return false
		}
	}
	return true
}

// fuzzItems reads br to its end, feeding feed byte by byte where it is short.
func fuzzItems(t *testing.T, br *sluice.BufReader, limits rtsp.Limits, feed []byte) (items []string, end error) {
	defer br.Recycle()
	r := rtsp.NewReader(br, limits)
	for {
		item, err := r.Read()
		switch {
		case err == nil:
			items = append(items, describe(&item))
			fuzzRewrite(t, item, limits)
		case errors.Is(err, sluice.ErrShort) && len(feed) > 0:
			if err := br.FeedCopy(feed[:1]); err != nil {
				t.Fatal(err)
			}
			feed = feed[1:]
		case errors.Is(err, sluice.ErrShort):
			br.FeedEnd(nil)
		default:
			return items, err
		}
	}
}

// fuzzRewrite checks an item, transferred.
func fuzzRewrite(t *testing.T, item rtsp.Item, limits rtsp.Limits) {
	t.Helper()
	var headers rtsp.Header
	switch {
	case item.Request != nil:
		headers = item.Request.Header
		if item.Request.Method == "" || strings.ContainsAny(item.Request.URL, " \r\n") {
			t.Fatalf("read %s", describe(&item))
		}
	case item.Response != nil:
		headers = item.Response.Header
		if s := item.Response.Status; s < 100 || s > 999 {
			t.Fatalf("read %s", describe(&item))
		}
	case !item.Interleaved.Payload.Valid() || item.Interleaved.Payload.Len() > limits.Interleaved:
		t.Fatalf("a frame of %d", item.Interleaved.Payload.Len())
	}
	if len(headers) > limits.Fields {
		t.Fatalf("%d fields", len(headers))
	}
	for _, field := range headers {
		if field.Name == "" || strings.ContainsAny(field.Name+field.Value, "\r\n\x00") || strings.Trim(field.Value, " \t") != field.Value {
			t.Fatalf("field %q", field)
		}
	}
	dropLength := func(i *rtsp.Item) string {
		switch {
		case i.Request != nil:
			i.Request.Header.Del("Content-Length")
			if len(i.Request.Header) == 0 {
				i.Request.Header = nil
			}
		case i.Response != nil:
			i.Response.Header.Del("Content-Length")
			if len(i.Response.Header) == 0 {
				i.Response.Header = nil
			}
		}
		return describe(i)
	}
	want := dropLength(&item)
	var out bytes.Buffer
	w := sluice.NewBufWriter(&out)
	defer w.Recycle()
	if err := errors.Join(writeItem(w, item), w.Flush()); err != nil {
		t.Fatalf("%s is not written: %v", want, err)
	}
	br := sluice.NewBufReaderBytes(out.Bytes())
	defer br.Recycle()
	// What is written can be longer: bare line feeds become CR LF.
	r := rtsp.NewReader(br, rtsp.Limits{})
	again, err := r.Read()
	if err != nil {
		t.Fatalf("%s is written as %q: %v", want, out.String(), err)
	}
	if got := dropLength(&again); got != want {
		t.Fatalf("read %s, written and read again %s", want, got)
	}
	again.Release()
	if _, err := r.Read(); err != io.EOF {
		t.Fatalf("%s is written as %q, behind which there is something: %v", want, out.String(), err)
	}
}

// FuzzTransport and FuzzRTPInfo: what is understood is written in a form that
// means the same.
func FuzzTransport(f *testing.F) {
	for _, c := range transports {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := rtsp.ParseTransport(text)
		if err != nil {
			return
		}
		again, err := rtsp.ParseTransport(rtsp.FormatTransport(list))
		if err != nil || !reflect.DeepEqual(list, again) {
			t.Fatalf("%+v is written as %q, which is %+v, %v", list, rtsp.FormatTransport(list), again, err)
		}
	})
}

func FuzzRTPInfo(f *testing.F) {
	f.Add("url=rtsp://foo.com/bar.avi/streamid=0;seq=45102,url=x;rtptime=5")
	f.Add(`url="rtsp://example.com/foo/audio" ssrc=0A13C760:seq=45102;rtptime=12345678 ssrc=1`)
	f.Add(`url="rtsp://example.com/foo;seq=1,url=x";seq=2`)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := rtsp.ParseRTPInfo(text)
		if err != nil {
			return
		}
		same := func() {
			again, err := rtsp.ParseRTPInfo(rtsp.FormatRTPInfo(list))
			if err != nil || !reflect.DeepEqual(list, again) {
				t.Fatalf("%+v is written as %q, which is %+v, %v", list, rtsp.FormatRTPInfo(list), again, err)
			}
		}
		same()
		for i := range list { // as of RFC 2326, whatever the address
			seq := uint16(i)
			list[i].SSRC, list[i].Seq = nil, &seq
		}
		same()
	})
}
