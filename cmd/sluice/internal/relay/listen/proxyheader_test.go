package listen

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// headers are headers with the address that they tell, and what is left.
var headers = []struct {
	name, text, address string // the address is empty for the proxy's own
	fails               bool
}{
	{"v1 IPv4", "PROXY TCP4 192.0.2.7 198.51.100.1 56324 1935\r\n", "192.0.2.7:56324", false},
	{"v1 IPv6", "PROXY TCP6 2001:db8::7 2001:db8::1 56324 1935\r\n", "[2001:db8::7]:56324", false},
	{"v1 unknown", "PROXY UNKNOWN\r\n", Unknown, false},
	{"v1 unknown with addresses", "PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n", Unknown, false},
	{"v1 other family", "PROXY TCP4 2001:db8::7 2001:db8::1 56324 1935\r\n", "", true},
	{"v1 zone", "PROXY TCP6 fe80::1%eth0 2001:db8::1 56324 1935\r\n", "", true},
	{"v1 no address", "PROXY TCP6 cam.example 2001:db8::1 56324 1935\r\n", "", true},
	{"v1 other protocol", "PROXY UDP6 2001:db8::7 2001:db8::1 56324 1935\r\n", "", true},
	{"v1 port", "PROXY TCP4 192.0.2.7 198.51.100.1 66324 1935\r\n", "", true},
	{"v1 short", "PROXY TCP4 192.0.2.7\r\n", "", true},
	{"v1 long", "PROXY TCP4 " + strings.Repeat("1", 200) + "\r\n", "", true},
	{"v2 IPv4", signature + "\x21\x11\x00\x0c\xc0\x00\x02\x07\xc6\x33\x64\x01\xdc\x04\x07\x8f", "192.0.2.7:56324", false},
	{"v2 IPv4 with extensions", signature + "\x21\x11\x00\x10\xc0\x00\x02\x07\xc6\x33\x64\x01\xdc\x04\x07\x8f\x04\x00\x01\x00", "192.0.2.7:56324", false},
	{"v2 IPv6", signature + "\x21\x21\x00\x24\x20\x01\x0d\xb8" + strings.Repeat("\x00", 11) + "\x07" + strings.Repeat("\x00", 16) + "\xdc\x04\x07\x8f", "[2001:db8::7]:56324", false},
	{"v2 with a checksum, a name and an unknown TLV", signature + "\x21\x11\x00\x1c\xc0\x00\x02\x07\xc6\x33\x64\x01\xdc\x04\x07\x8f\x03\x00\x04abcd\x02\x00\x01x\xee\x00\x02\x00\x01", "192.0.2.7:56324", false},
	{"v2 local", signature + "\x20\x00\x00\x00", "", false},
	{"v2 datagrams", signature + "\x21\x12\x00\x0c\xc0\x00\x02\x07\xc6\x33\x64\x01\xdc\x04\x07\x8f", Unknown, false},
	{"v2 short", signature + "\x21\x11\x00\x08\xc0\x00\x02\x07\xc6\x33\x64\x01", "", true},
	{"v2 long", signature + "\x21\x11\xff\xff", "", true},
	{"v3", signature + "\x31\x11\x00\x0c\xc0\x00\x02\x07\xc6\x33\x64\x01\xdc\x04\x07\x8f", "", true},
	{"RTMP", "\x03" + strings.Repeat("\x00", 1536), "", true},
	{"HTTP", "GET / HTTP/1.1\r\n\r\n", "", true},
}

func TestHeaders(t *testing.T) {
	for _, c := range headers {
		for chunk, reader := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "halves": iotest.HalfReader,
		} {
			r := reader(strings.NewReader(c.text + "what follows"))
			got, err := readHeader(r)
			if c.address == Unknown && err == errUnknown {
				err = nil
			}
			if c.fails {
				if !errors.Is(err, ErrHeader) {
					t.Errorf("%s, %s: %v, %v", c.name, chunk, got, err)
				}
				continue
			}
			want := netip.AddrPort{}
			if c.address != "" && c.address != Unknown {
				want = netip.MustParseAddrPort(c.address)
			}
			rest, _ := io.ReadAll(r)
			if err != nil || got != want || string(rest) != "what follows" {
				t.Errorf("%s, %s: %v, %v, then %q", c.name, chunk, got, err, rest)
			}
		}
		// Cut anywhere it is no header.
		for n := range len(c.text) {
			if _, err := readHeader(strings.NewReader(c.text[:n])); err == nil {
				t.Errorf("%s: a header in the first %d bytes", c.name, n)
			}
			if c.fails {
				break
			}
		}
	}
}

func FuzzHeader(f *testing.F) {
	for _, c := range headers {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		r := bytes.NewReader(p)
		address, err := readHeader(r)
		used := p[:len(p)-r.Len()]
		if err != nil && err != errUnknown {
			if address.IsValid() {
				t.Errorf("%v with %v", address, err)
			}
			return
		}
		// The same bytes say the same alone.
		if again, wrong := readHeader(bytes.NewReader(used)); wrong != err || again != address {
			t.Errorf("%q: %v, and then %v, %v", used, address, again, wrong)
		}
	})
}

// listening is a listener on which connections from trusted begin with a header.
func listening(t *testing.T, trusted string, within time.Duration) net.Listener {
	t.Helper()
	var p Proxies
	if err := p.Update([]netip.Prefix{netip.MustParsePrefix(trusted)}); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return p.Listener(l, within, nil)
}

func TestConnectionFromAProxy(t *testing.T) {
	l := listening(t, "127.0.0.0/8", time.Minute)
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	io.WriteString(client, "PROXY TCP4 192.0.2.7 198.51.100.1 56324 1935\r\nhello")
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	plain, remote, err := Unwrap(conn)
	if _, tcp := plain.(*net.TCPConn); err != nil || !tcp || remote.String() != "192.0.2.7:56324" || conn.RemoteAddr() != remote {
		t.Fatalf("%T from %v, %v", plain, remote, err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(plain, got); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
}

// A header is only accepted from a trusted proxy. A proxy's connection fails
// without a whole header in time.
func TestConnectionThatIsNotFromAProxy(t *testing.T) {
	for _, c := range []struct {
		trusted string
		within  time.Duration
		send    string
		from    string // the beginning of the address that is believed
		fails   bool
	}{
		{"10.0.0.0/8", time.Minute, "PROXY TCP4 192.0.2.7 198.51.100.1 1 2\r\n", "127.0.0.1:", false},
		{"127.0.0.1/32", time.Minute, "GET / HTTP/1.1\r\n\r\n", "127.0.0.1:", true},
		{"127.0.0.1/32", 10 * time.Millisecond, "PROXY TCP4", "127.0.0.1:", true},
	} {
		l := listening(t, c.trusted, c.within)
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		io.WriteString(client, c.send)
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, remote, err := Unwrap(conn)
		if (err != nil) != c.fails || !strings.HasPrefix(remote.String(), c.from) {
			t.Errorf("%+v: %v, %v", c, remote, err)
		}
		got := make([]byte, 4)
		if n, err := io.ReadFull(conn, got); c.fails == (err == nil) || !c.fails && string(got[:n]) != c.send[:4] {
			t.Errorf("%+v: read %q, %v", c, got[:n], err)
		}
	}
}

// A proxy that does not know its client's address says so: the client must not
// be taken for the proxy, whose header fields are believed.
func TestClientThatTheProxyDoesNotKnow(t *testing.T) {
	for _, c := range []struct{ name, send, from string }{
		{"v1 unknown", "PROXY UNKNOWN\r\n", Unknown},
		{"v2 unspecified", signature + "\x21\x00\x00\x00", Unknown},
		{"v2 Unix socket", signature + "\x21\x31\x00\xd8" + strings.Repeat("\x00", 216), Unknown},
		{"v2 datagrams", signature + "\x21\x12\x00\x0c\xc0\x00\x02\x07\xc6\x33\x64\x01\xdc\x04\x07\x8f", Unknown},
		{"v2 local: the proxy itself", signature + "\x20\x00\x00\x00", "127.0.0.1:"},
		{"v2 local with a rest", signature + "\x20\x11\x00\x0c\xc0\x00\x02\x07\xc6\x33\x64\x01\xdc\x04\x07\x8f", "127.0.0.1:"},
	} {
		l := listening(t, "127.0.0.0/8", time.Minute)
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		io.WriteString(client, c.send)
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, remote, err := Unwrap(conn); err != nil || !strings.HasPrefix(remote.String(), c.from) || conn.RemoteAddr().String() != remote.String() {
			t.Errorf("%s: from %v, %v", c.name, remote, err)
		}
	}
}
