package rtsp_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/rtsp"
)

var transports = []struct {
	text  string
	want  []rtsp.Transport
	again string
}{
	{
		"RTP/AVP/TCP;unicast;interleaved=0-1;mode=record",
		[]rtsp.Transport{{Protocol: "RTP", Profile: "AVP", Lower: "TCP", Unicast: true, Interleaved: &rtsp.Pair{First: 0, Last: 1}, Mode: []string{"RECORD"}}},
		"RTP/AVP/TCP;unicast;interleaved=0-1;mode=RECORD",
	},
	{ // RFC 2326, section 12.39
		`RTP/AVP;multicast;ttl=127;mode="PLAY", RTP/AVP;unicast;client_port=3456-3457;mode="PLAY"`,
		[]rtsp.Transport{
			{Protocol: "RTP", Profile: "AVP", Multicast: true, TTL: 127, Mode: []string{"PLAY"}},
			{Protocol: "RTP", Profile: "AVP", Unicast: true, ClientPort: &rtsp.Pair{First: 3456, Last: 3457}, Mode: []string{"PLAY"}},
		},
		"RTP/AVP;multicast;ttl=127;mode=PLAY,RTP/AVP;unicast;client_port=3456-3457;mode=PLAY",
	},
	{ // RFC 7826, section 18.54
		`RTP/AVP;unicast;dest_addr=":3456"/":3457";mode="PLAY,RECORD";ssrc=0a13C760/2`,
		[]rtsp.Transport{{Protocol: "RTP", Profile: "AVP", Unicast: true, SSRC: []uint32{0x0a13c760, 2}, Mode: []string{"PLAY", "RECORD"},
			Other: []rtsp.Param{{Name: "dest_addr", Value: `":3456"/":3457"`}}}},
		`RTP/AVP;unicast;ssrc=0A13C760/00000002;mode="PLAY,RECORD";dest_addr=":3456"/":3457"`,
	},
	{
		" rtp/avp/udp ; UNICAST ; Destination=192.0.2.1 ; source=[2001:db8::1];; server_port=6256 ;append;layers=2;port=5;x=\"a;b,\\\"c\";y",
		[]rtsp.Transport{{Protocol: "RTP", Profile: "AVP", Lower: "UDP", Unicast: true, Destination: "192.0.2.1", Source: "[2001:db8::1]",
			ServerPort: &rtsp.Pair{First: 6256, Last: 6256}, Port: &rtsp.Pair{First: 5, Last: 5}, Append: true, Layers: 2,
			Other: []rtsp.Param{{Name: "x", Value: `"a;b,\"c"`}, {Name: "y"}}}},
		`RTP/AVP/UDP;unicast;destination=192.0.2.1;source=[2001:db8::1];layers=2;append;port=5;server_port=6256;x="a;b,\"c";y`,
	},
	{ // the protocol behind its parameters
		"client_port=3456-3457;RTP/AVP;mode=play;unicast",
		[]rtsp.Transport{{Protocol: "RTP", Profile: "AVP", Unicast: true, ClientPort: &rtsp.Pair{First: 3456, Last: 3457}, Mode: []string{"PLAY"}}},
		"RTP/AVP;unicast;client_port=3456-3457;mode=PLAY",
	},
	{ // what cameras send instead of what they should
		"RTP/AVP;ssrc=123456789;ttl=0;ttl=5;mode=;unicast=1;destination,,",
		[]rtsp.Transport{{Protocol: "RTP", Profile: "AVP", Other: []rtsp.Param{{Name: "ssrc", Value: "123456789"}, {Name: "ttl", Value: "0"}, {Name: "ttl", Value: "5"}, {Name: "mode"}, {Name: "unicast", Value: "1"}, {Name: "destination"}}}},
		"RTP/AVP;ssrc=123456789;ttl=0;ttl=5;mode;unicast=1;destination",
	},
}

func TestTransport(t *testing.T) {
	for _, c := range transports {
		got, err := rtsp.ParseTransport(c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q:\ngot  %+v, %v\nwant %+v", c.text, got, err, c.want)
			continue
		}
		if text := rtsp.FormatTransport(got); text != c.again {
			t.Errorf("%q:\nwritten %s\nwant    %s", c.text, text, c.again)
		}
		if again, err := rtsp.ParseTransport(c.again); err != nil || !reflect.DeepEqual(again, c.want) {
			t.Errorf("%q: read again: %+v, %v", c.text, again, err)
		}
	}
	if r := (&rtsp.Transport{Mode: []string{"RECEIVE"}}); !r.Record() {
		t.Error("RECEIVE is no recording")
	}
	if p := (&rtsp.Transport{Mode: []string{"PLAY"}}); p.Record() {
		t.Error("PLAY is a recording")
	}
}

func TestWrongTransports(t *testing.T) {
	for text, want := range map[string]error{
		"":                                   rtsp.ErrSyntax,
		",":                                  rtsp.ErrSyntax,
		"RTP":                                rtsp.ErrSyntax,
		"RTP/":                               rtsp.ErrSyntax,
		"RTP/AVP/TCP/x":                      rtsp.ErrSyntax,
		"RTP/A VP":                           rtsp.ErrSyntax,
		"RTP/AVP=x":                          rtsp.ErrSyntax,
		"unicast;RTP/AVP;RTP/AVP":            rtsp.ErrSyntax,
		";unicast":                           rtsp.ErrSyntax,
		"RTP/AVP;unicast;multicast":          rtsp.ErrSyntax,
		"RTP/AVP;=x":                         rtsp.ErrSyntax,
		"RTP/AVP;a b=x":                      rtsp.ErrSyntax,
		"RTP/AVP;interleaved":                rtsp.ErrSyntax,
		"RTP/AVP;interleaved=":               rtsp.ErrSyntax,
		"RTP/AVP;interleaved=1-0":            rtsp.ErrSyntax,
		"RTP/AVP;interleaved=0-256":          rtsp.ErrSyntax,
		"RTP/AVP;interleaved=-1":             rtsp.ErrSyntax,
		"RTP/AVP;interleaved=0-":             rtsp.ErrSyntax,
		"RTP/AVP;interleaved=0-1-2":          rtsp.ErrSyntax,
		"RTP/AVP;port=65536":                 rtsp.ErrSyntax,
		"RTP/AVP;port=1;port=2":              rtsp.ErrSyntax,
		"RTP/AVP;client_port=99999999999":    rtsp.ErrSyntax,
		`RTP/AVP;x="open`:                    rtsp.ErrSyntax,
		`RTP/AVP;x="open\`:                   rtsp.ErrSyntax,
		strings.Repeat("RTP/AVP,", 17):       rtsp.ErrTooLong,
		"RTP/AVP" + strings.Repeat(";a", 33): rtsp.ErrTooLong,
	} {
		if got, err := rtsp.ParseTransport(text); !errors.Is(err, want) || got != nil {
			t.Errorf("%.40q: %+v, %v", text, got, err)
		}
	}
}

func TestSession(t *testing.T) {
	for _, c := range []struct {
		text, id string
		timeout  time.Duration
		again    string
	}{
		{"47112344", "47112344", 0, "47112344"},
		{" 47112344 ; Timeout = 65 ", "47112344", 65 * time.Second, "47112344;timeout=65"},
		{"a$-_.+b;x=y;timeout=1;z", "a$-_.+b", time.Second, "a$-_.+b;timeout=1"},
		{"a;timeout=0", "a", 0, "a"},
	} {
		got, err := rtsp.ParseSession(c.text)
		if err != nil || got != (rtsp.Session{ID: c.id, Timeout: c.timeout}) || got.String() != c.again {
			t.Errorf("%q: %+v, %v, written %s", c.text, got, err, got)
		}
	}
	for _, text := range []string{"", ";timeout=5", "a b", "a\"", "a,b", "a;timeout=-1", "a;timeout=x", "a;timeout", "a;timeout=99999999999", strings.Repeat("a", 257)} {
		if got, err := rtsp.ParseSession(text); !errors.Is(err, rtsp.ErrSyntax) {
			t.Errorf("%.40q: %+v, %v", text, got, err)
		}
	}
}

func TestRTPInfo(t *testing.T) {
	seq := func(n uint16) *uint16 { return &n }
	at := func(n uint32) *uint32 { return &n }
	for _, c := range []struct {
		text  string
		want  []rtsp.RTPInfo
		again string
	}{
		{ // RFC 2326, section 12.33
			"url=rtsp://foo.com/bar.avi/streamid=0;seq=45102,\turl=rtsp://foo.com/bar.avi/streamid=1;seq=30211",
			[]rtsp.RTPInfo{{URL: "rtsp://foo.com/bar.avi/streamid=0", Seq: seq(45102)}, {URL: "rtsp://foo.com/bar.avi/streamid=1", Seq: seq(30211)}},
			"url=rtsp://foo.com/bar.avi/streamid=0;seq=45102,url=rtsp://foo.com/bar.avi/streamid=1;seq=30211",
		},
		{
			"URL=rtsp://h/a,b;c=d ; RTPTime=4294967295; seq=0;new=1",
			[]rtsp.RTPInfo{{URL: "rtsp://h/a,b;c=d", Seq: seq(0), RTPTime: at(4294967295)}},
			"url=rtsp://h/a,b;c=d;seq=0;rtptime=4294967295",
		},
		{ // RFC 7826, section 18.45
			`url="rtsp://example.com/foo/audio" ssrc=0A13C760:seq=45102;rtptime=12345678,url="rtsp://example.com/foo/video" ssrc=9A9DE123:seq=30211 ssrc=1`,
			[]rtsp.RTPInfo{
				{URL: "rtsp://example.com/foo/audio", SSRC: at(0x0a13c760), Seq: seq(45102), RTPTime: at(12345678)},
				{URL: "rtsp://example.com/foo/video", SSRC: at(0x9a9de123), Seq: seq(30211)},
				{URL: "rtsp://example.com/foo/video", SSRC: at(1)},
			},
			`url="rtsp://example.com/foo/audio" ssrc=0A13C760:seq=45102;rtptime=12345678,url="rtsp://example.com/foo/video" ssrc=9A9DE123:seq=30211,url="rtsp://example.com/foo/video" ssrc=00000001`,
		},
		{"url=x", []rtsp.RTPInfo{{URL: "x"}}, "url=x"},
		{`url="x"`, []rtsp.RTPInfo{{URL: "x"}}, "url=x"},
		{`url="x,url=y"`, []rtsp.RTPInfo{{URL: "x,url=y"}}, `url="x,url=y"`},
		{`url="x;seq=1";seq=2;rtptime=3,url="y;rtptime=4";seq=5`, []rtsp.RTPInfo{{URL: "x;seq=1", Seq: seq(2), RTPTime: at(3)}, {URL: "y;rtptime=4", Seq: seq(5)}}, `url="x;seq=1";seq=2;rtptime=3,url="y;rtptime=4";seq=5`},
		{`url="x";seq=2`, []rtsp.RTPInfo{{URL: "x", Seq: seq(2)}}, "url=x;seq=2"},
		{`url="x;seq=1",url=y`, []rtsp.RTPInfo{{URL: "x;seq=1"}, {URL: "y"}}, `url="x;seq=1",url=y`},
	} {
		got, err := rtsp.ParseRTPInfo(c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %+v, %v", c.text, got, err)
			continue
		}
		if text := rtsp.FormatRTPInfo(got); text != c.again {
			t.Errorf("%q: written %s", c.text, text)
		}
		if again, err := rtsp.ParseRTPInfo(c.again); err != nil || !reflect.DeepEqual(again, c.want) {
			t.Errorf("%q: read again: %+v, %v", c.text, again, err)
		}
	}
	for _, text := range []string{"", "x", "seq=1", "url=", "url=a b;seq=1", "url=a;seq=65536", "url=a;seq=-1", "url=a;rtptime=4294967296", `url="a`, `url="" ssrc=1`, `url="a" seq=1`, `url="a" ssrc=x`, `url="a" ssrc=123456789`} {
		if got, err := rtsp.ParseRTPInfo(text); !errors.Is(err, rtsp.ErrSyntax) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	if _, err := rtsp.ParseRTPInfo(strings.Repeat("url=a,", 65)); !errors.Is(err, rtsp.ErrTooLong) && !errors.Is(err, rtsp.ErrSyntax) {
		t.Error(err)
	}
}
