package rtmp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"strings"
	"testing"

	sluice "github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// requestClient is what a client sends, written by hand.
type requestClient struct {
	t   *testing.T
	out bytes.Buffer
	w   *sluice.BufWriter
	c   *ChunkWriter
	n   float64
}

func requestNew(t *testing.T) *requestClient {
	c := &requestClient{t: t}
	c.w = sluice.NewBufWriter(&c.out)
	c.c = NewChunkWriter(c.w)
	return c
}

func (c *requestClient) message(typ MessageType, p []byte) {
	c.t.Helper()
	if err := c.c.WriteMessage(Message{Type: typ, Payload: mem.Wrap(p, nil)}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *requestClient) command(name string, args ...amf0.Value) {
	c.t.Helper()
	c.n++
	p, err := AppendCommand(nil, name, c.n, args...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.message(TypeCommandAMF0, p)
}

// served lets a server read what was sent and returns its request and what it
// answered.
func (c *requestClient) served(o Options) (*Request, []chunkMessage, error) {
	c.t.Helper()
	if err := c.w.Flush(); err != nil {
		c.t.Fatal(err)
	}
	a := mem.New(mem.Options{})
	sluicetest.NoLeaks(c.t, a)
	r := &sluice.BufReader{Allocator: a}
	r.Reset(bytes.NewReader(bytes.Clone(c.out.Bytes())))
	var out bytes.Buffer
	w := sluice.NewBufWriter(&out)
	s := NewConn(r, w, o)
	req, err := s.ReadRequest()
	s.Recycle()
	r.Recycle()
	if flushErr := w.Flush(); flushErr != nil {
		c.t.Fatal(flushErr)
	}
	answers, readErr := chunkReadAll(NewChunkReader(sluice.NewBufReaderBytes(out.Bytes()), Limits{}))
	if readErr != io.EOF {
		c.t.Fatal("answers: ", readErr)
	}
	return req, answers, err
}

// requestNames lists the commands among messages.
func requestNames(t *testing.T, messages []chunkMessage) []string {
	t.Helper()
	var names []string
	for _, m := range messages {
		if m.typ != TypeCommandAMF0 {
			names = append(names, m.typ.String())
			continue
		}
		cmd, err := ParseCommand(m.message(mem.Default()))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, fmt.Sprint(cmd.Name, " ", cmd.Transaction))
	}
	return names
}

func TestRequestOfAnEncoder(t *testing.T) {
	c := requestNew(t)
	c.command("connect", chunkObject("app", "live", "flashVer", "FMLE/3.0", "tcUrl", "rtmp://h/live", "pageUrl", "http://p/"))
	c.command("releaseStream", nil, "s")
	c.command("FCPublish", nil, "s")
	c.command("createStream", nil)
	c.command("_checkbw", nil)
	c.command("somethingElse", nil)
	c.command("publish", nil, "s", "live")
	req, answers, err := c.served(Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := &Request{
		Kind: Publish, App: "live", Stream: "s", Query: url.Values{}, TCURL: "rtmp://h/live", PageURL: "http://p/",
		FlashVer: "FMLE/3.0", PublishType: "live", StreamID: 1, Connect: req.Connect,
	}
	if !reflect.DeepEqual(req, want) {
		t.Errorf("request %+v, want %+v", req, want)
	}
	if got := req.Connect.String("flashVer"); got != "FMLE/3.0" {
		t.Errorf("connect object says flashVer %q", got)
	}
	names := []string{
		TypeWindowAckSize.String(), TypeSetPeerBandwidth.String(), "_result 1", "_result 2", "_result 3", "onFCPublish 0",
		"_result 4", "_result 5", "_error 6",
	}
	if got := requestNames(t, answers); !reflect.DeepEqual(got, names) {
		t.Errorf("answers %q, want %q", got, names)
	}
	created, err := ParseCommand(answers[6].message(mem.Default()))
	if err != nil || created.Number(1) != 1 {
		t.Errorf("createStream was answered with %+v, %v", created, err)
	}
}

func TestRequestNames(t *testing.T) {
	for _, c := range []struct {
		app, tcURL, name string
		wantApp, want    string
		query            url.Values
	}{
		{"live", "rtmp://h/live", "s", "live", "s", url.Values{}},
		{"/live/", "rtmp://h/live", "/s/", "live", "s", url.Values{}},
		{"live/room", "rtmp://h/live/room", "s", "live/room", "s", url.Values{}},
		{"live", "rtmp://h/live", "a/b", "live", "a/b", url.Values{}},
		{"live", "rtmp://h/live", "s?token=1.ab&wait=5", "live", "s", url.Values{"token": {"1.ab"}, "wait": {"5"}}},
		{"live?token=app", "rtmp://h/live?token=tc", "s?token=name", "live", "s", url.Values{"token": {"name", "app", "tc"}}},
		{"live", "rtmp://h/live?token=tc", "s?a=%20%zz&b=1", "live", "s", url.Values{"token": {"tc"}, "b": {"1"}}},
		{"", "", "", "", "", url.Values{}},
		{"live", "", "s?", "live", "s", url.Values{}},
		{"live", "", "s?x", "live", "s", url.Values{"x": {""}}},
	} {
		for kind, name := range map[Kind]string{Publish: "publish", Play: "play"} {
			r := requestNew(t)
			r.command("connect", chunkObject("app", c.app, "tcUrl", c.tcURL))
			r.command(name, nil, c.name)
			req, _, err := r.served(Options{})
			if err != nil {
				t.Fatal(err)
			}
			if req.Kind != kind || req.App != c.wantApp || req.Stream != c.want || !reflect.DeepEqual(req.Query, c.query) {
				t.Errorf("%q, %q, %q: %v %q %q %v", c.app, c.tcURL, c.name, req.Kind, req.App, req.Stream, req.Query)
			}
		}
	}
}

// Flash sends commands as AMF 3 with AMF 0 inside, and arrays for objects.
func TestRequestOfFlash(t *testing.T) {
	c := requestNew(t)
	p, err := AppendCommand([]byte{0}, "connect", 1, amf0.ECMAArray(chunkObject("app", "live")))
	if err != nil {
		t.Fatal(err)
	}
	c.message(TypeCommandAMF3, p)
	c.message(TypeCommandAMF0, mustCommand(t, "createStream", 2, nil))
	p, err = AppendCommand([]byte{0}, "play", 3, nil, "s", -2.0, -1.0, true)
	if err != nil {
		t.Fatal(err)
	}
	c.message(TypeCommandAMF3, p)
	req, _, err := c.served(Options{})
	if err != nil || req.Kind != Play || req.App != "live" || req.Stream != "s" {
		t.Errorf("%+v, %v", req, err)
	}
}

func mustCommand(t *testing.T, name string, transaction float64, args ...amf0.Value) []byte {
	t.Helper()
	p, err := AppendCommand(nil, name, transaction, args...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMediaBeforeARequestIsDropped(t *testing.T) {
	c := requestNew(t)
	c.command("connect", chunkObject("app", "live"))
	for range 10 {
		c.message(TypeVideo, make([]byte, 1000))
	}
	c.command("publish", nil, "s")
	if req, _, err := c.served(Options{}); err != nil || req.Stream != "s" {
		t.Errorf("%+v, %v", req, err)
	}
}

func TestEnhancedCapabilities(t *testing.T) {
	video := chunkObject("*", 4.0, "hvc1", 3.0)
	for _, c := range []struct {
		name   string
		said   amf0.Object
		own    Capabilities
		parsed Capabilities
		answer Capabilities
	}{
		{"nothing is said", nil, Capabilities{}, Capabilities{}, Capabilities{}},
		{"nothing is said to one that says nothing", nil, Capabilities{CapsEx: 1}, Capabilities{}, Capabilities{}},
		{"a list", chunkObject("fourCcList", amf0.StrictArray{"av01", "hvc1", 5.0, "much too long a name"}), Capabilities{},
			Capabilities{FourCCs: []string{"av01", "hvc1"}},
			Capabilities{FourCCs: []string{"av01", "hvc1"}, Video: map[string]uint32{"*": 4}, Audio: map[string]uint32{"*": 4}}},
		{"maps", chunkObject("videoFourCcInfoMap", video, "audioFourCcInfoMap", amf0.ECMAArray(chunkObject("Opus", 1.0, "x", "y")), "capsEx", 15.0), Capabilities{},
			Capabilities{Video: map[string]uint32{"*": 4, "hvc1": 3}, Audio: map[string]uint32{"Opus": 1}, CapsEx: 15},
			Capabilities{Video: map[string]uint32{"*": 4}, Audio: map[string]uint32{"*": 4}, CapsEx: 14}},
		{"the server's own", chunkObject("capsEx", 1.0), Capabilities{FourCCs: []string{"avc1"}, CapsEx: 3},
			Capabilities{CapsEx: 1}, Capabilities{FourCCs: []string{"avc1"}, CapsEx: 3}},
		{"nonsense", chunkObject("capsEx", -1.0, "fourCcList", "av01", "videoFourCcInfoMap", nil), Capabilities{}, Capabilities{}, Capabilities{}},
	} {
		r := requestNew(t)
		r.command("connect", append(chunkObject("app", "live"), c.said...))
		r.command("publish", nil, "s")
		req, answers, err := r.served(Options{Capabilities: c.own})
		if err != nil {
			t.Fatal(c.name, err)
		}
		if !reflect.DeepEqual(req.Capabilities, c.parsed) {
			t.Errorf("%s: parsed %+v, want %+v", c.name, req.Capabilities, c.parsed)
		}
		result, err := ParseCommand(answers[2].message(mem.Default()))
		if err != nil {
			t.Fatal(c.name, err)
		}
		for i := range 2 {
			if got := parseCapabilities(result.Object(i)); !reflect.DeepEqual(got, c.answer) {
				t.Errorf("%s: object %d of the answer says %+v, want %+v", c.name, i, got, c.answer)
			}
		}
	}
}

func TestManyCodecsAreCut(t *testing.T) {
	var list amf0.StrictArray
	var codecs amf0.Object
	for i := range 1000 {
		list = append(list, fmt.Sprint(i))
		codecs = append(codecs, amf0.Property{Name: fmt.Sprint(i), Value: 1.0})
	}
	c := parseCapabilities(chunkObject("fourCcList", list, "videoFourCcInfoMap", codecs))
	if len(c.FourCCs) != mostFourCCs || len(c.Video) != mostFourCCs {
		t.Errorf("%d and %d codecs", len(c.FourCCs), len(c.Video))
	}
}

func TestConnectTwiceIsRefused(t *testing.T) {
	c := requestNew(t)
	c.command("connect", chunkObject("app", "live"))
	c.command("connect", chunkObject("app", "live"))
	if _, _, err := c.served(Options{}); !errors.Is(err, ErrProtocol) {
		t.Error(err)
	}
}

// What a peer chose is not sent back at length: replies stay short.
func TestRepliesStayShort(t *testing.T) {
	long := strings.Repeat("é", 20_000)
	c := requestNew(t)
	c.command("connect", chunkObject("app", "live"))
	c.command("FCPublish", nil, long)
	c.command("publish", nil, long)
	req, answers, err := c.served(Options{})
	if err != nil || req.Stream != long {
		t.Fatal(err)
	}
	for _, m := range answers {
		if len(m.body) > 1024 {
			t.Errorf("%v", m)
		}
	}
	var out bytes.Buffer
	s := NewConn(sluice.NewBufReaderBytes(nil), sluice.NewBufWriter(&out), Options{})
	for _, err := range []error{s.Accept(req), s.Refuse(req, PlayFailed, long), s.End(req)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if out.Len() > 4096 {
		t.Errorf("%d bytes", out.Len())
	}
}
