package relay

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/rtsp"
)

// needsIPv6 skips a test on a machine without the address ::1.
func needsIPv6(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("this machine has no IPv6: %v", err)
	}
	l.Close()
}

// SRT at [::] takes calls by both families, as listeners of TCP do there.
func TestSRTAtAllAddressesOfBothFamilies(t *testing.T) {
	needsIPv6(t)
	_, address := startSRT(t, func(c *relayConfig) { c.SRT = "[::]:0" })
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	for stream, host := range map[string]string{"live/a": "127.0.0.1", "live/b": "::1"} {
		srtConnect(t, net.JoinHostPort(host, port), "#!::r="+stream+",m=publish", nil)
	}
}

// A client that comes by IPv6 is to open its ports for media there: GStreamer goes by the family in the
// description. It may name the zone of the server's address as it was typed.
func TestRTSPByIPv6(t *testing.T) {
	needsIPv6(t)
	s := rtspServe(t, func(c *relayConfig) { c.RTSP = "[::1]:0" })
	at := netip.MustParseAddrPort(s.Addresses()["rtsp"])
	p := rtspDialFrom(t, s, "::1")
	p.record("live/s")(1)
	for zone, base := range map[string]string{"": "", "%eth0": "%25eth0", "%25eth0": "%25eth0", "%12": "%2512"} {
		conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("DESCRIBE rtsp://[::1" + zone + "]:8554/live/s?wait=10 RTSP/1.0\r\nCSeq: 1\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		r := sluice.NewBufReader(conn)
		defer r.Recycle()
		item, err := rtsp.NewReader(r, rtsp.Limits{}).Read()
		if err != nil || item.Response.Status != 200 {
			t.Fatalf("zone %q: %+v, %v", zone, item.Response, err)
		}
		text := string(item.Response.Body.Bytes())
		if got := item.Response.Header.Get("Content-Base"); got != "rtsp://[::1"+base+"]:8554/live/s/" || !strings.Contains(text, "c=IN IP6 ::\r\n") {
			t.Errorf("zone %q: Content-Base %s\n%s", zone, got, text)
		}
		item.Release()
	}
}
