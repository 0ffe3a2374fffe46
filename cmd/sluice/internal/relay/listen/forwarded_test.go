package listen

import (
	"errors"
	"net/http"
	"net/netip"
	"testing"
)

func TestClientOfARequest(t *testing.T) {
	var p Proxies
	if err := p.Update([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48")}); err != nil {
		t.Fatal(err)
	}
	const proxy = "127.0.0.1:5000"
	x := func(lines ...string) http.Header { return http.Header{"X-Forwarded-For": lines} }
	f := func(lines ...string) http.Header { return http.Header{"Forwarded": lines} }
	for _, c := range []struct {
		name, peer string
		h          http.Header
		want       string
	}{
		{"no proxy", "192.0.2.7:1", x("203.0.113.9"), "192.0.2.7:1"},
		{"no proxy, RFC 7239", "192.0.2.7:1", f("for=203.0.113.9"), "192.0.2.7:1"},
		{"a proxy that says nothing", proxy, nil, proxy},
		{"one", proxy, x("203.0.113.9"), "203.0.113.9"},
		{"a proxy over IPv6", "[::ffff:127.0.0.1]:5000", x("203.0.113.9"), "203.0.113.9"},
		{"with a port", proxy, x("203.0.113.9:4711"), "203.0.113.9:4711"},
		{"IPv6", proxy, x("2001:db8::9"), "2001:db8::9"},
		{"IPv6 with a port", proxy, x("[2001:db8::9]:4711"), "[2001:db8::9]:4711"},
		{"IPv4 in IPv6", proxy, x("::ffff:203.0.113.9"), "203.0.113.9"},
		{"what the client says before it", proxy, x("198.51.100.1, 203.0.113.9"), "203.0.113.9"},
		{"what the client says in a line before it", proxy, x("198.51.100.1", "203.0.113.9"), "203.0.113.9"},
		{"two proxies", proxy, x("198.51.100.1, 203.0.113.9, 10.1.2.3"), "203.0.113.9"},
		{"proxies only", proxy, x("10.0.0.1, 10.0.0.2"), "10.0.0.1"},
		{"garbage", proxy, x("evil"), Unknown},
		{"garbage before a proxy", proxy, x("198.51.100.1, evil, 10.0.0.1"), Unknown},
		{"nothing in it", proxy, x(""), Unknown},
		{"RFC 7239", proxy, f("for=203.0.113.9;proto=https;by=10.0.0.1"), "203.0.113.9"},
		{"RFC 7239, quoted", proxy, f(`proto=http; For="[2001:db8::9]:4711"`), "[2001:db8::9]:4711"},
		{"RFC 7239, several", proxy, f(`for=198.51.100.1, for="203.0.113.9:80"`, "for=10.0.0.7"), "203.0.113.9:80"},
		{"RFC 7239, a comma in quotes", proxy, f(`for=198.51.100.1;by="a,for=192.0.2.1", for=203.0.113.9;by="x\",y"`), "203.0.113.9"},
		{"RFC 7239, hidden", proxy, f("for=198.51.100.1, for=_hidden"), Unknown},
		{"RFC 7239, unknown", proxy, f("for=unknown"), Unknown},
		{"RFC 7239, no for", proxy, f("for=198.51.100.1, proto=https"), Unknown},
		{"RFC 7239, a hidden port", proxy, f(`for="203.0.113.9:_x", for="[2001:db8::9]:_y"`), "2001:db8::9"},
		{"both, and they agree", proxy, http.Header{"X-Forwarded-For": {"203.0.113.9"}, "Forwarded": {`for="203.0.113.9:80"`}}, "203.0.113.9"},
	} {
		if got, err := p.Client(c.peer, c.h); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
	// One of them is what the client has sent, and the proxy does not know it.
	if got, err := p.Client(proxy, http.Header{"X-Forwarded-For": {"203.0.113.9"}, "Forwarded": {"for=10.0.0.1"}}); !errors.Is(err, ErrForwarded) {
		t.Errorf("fields that differ: %q, %v", got, err)
	}
	// A client that leaves a quoted string open would otherwise swallow what the
	// proxy adds behind it, and choose its own address.
	for _, lines := range [][]string{
		{`for=198.51.100.1;x=", for=203.0.113.9`},
		{`for=", for=203.0.113.9`},
		{`for="198.51.100.1`, "for=203.0.113.9"},
		{`for=198.51.100.1;x="\", for=203.0.113.9`},
		{`for="198.51.100.1"x"`, "for=203.0.113.9"},
		{"for=203.0.113.9;for=198.51.100.1"},
		{"for=198.51.100.1 for=203.0.113.9"},
	} {
		if got, err := p.Client(proxy, f(lines...)); !errors.Is(err, ErrForwarded) {
			t.Errorf("%q: %q, %v", lines, got, err)
		}
	}
	// The zero value believes no one.
	var none Proxies
	if got, err := none.Client(proxy, x("203.0.113.9")); err != nil || got != proxy {
		t.Errorf("%q, %v", got, err)
	}
}
