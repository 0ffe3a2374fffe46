package rtspauth

import "testing"

// The example of RFC 2617, section 3.5.
func TestDigestOfTheSpecification(t *testing.T) {
	p := Params(`username="Mufasa", realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", uri="/dir/index.html", qop=auth, nc=00000001, cnonce="0a4f113b", response="6629fae49393a05397450978507c4ef1", opaque="5ccc069c403ebaf9f0171e9517f40e41"`)
	if got := Response("Mufasa", "Circle Of Life", "GET", p); got != p["response"] {
		t.Errorf("%s, want %s", got, p["response"])
	}
	for _, quality := range []string{"", "auth", "auth-int,auth"} {
		challenge := map[string]string{"realm": "r", "nonce": "n", "qop": quality, "opaque": "o"}
		a := Params(Answer("user", "secret", "DESCRIBE", "rtsp://h/s", challenge, 1))
		if a["response"] != Response("user", "secret", "DESCRIBE", a) || a["opaque"] != "o" || a["username"] != "user" {
			t.Errorf("%q: %v", quality, a)
		}
	}
}

// The example of RFC 7616, section 3.9.1.
func TestDigestWithSHA256(t *testing.T) {
	const text = `username="Mufasa", realm="http-auth@example.org", uri="/dir/index.html", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", nc=00000001, cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", qop=auth, algorithm=`
	for algorithm, want := range map[string]string{
		"MD5":     "8ca523f5e9506fed4657c9700eebdbec",
		"SHA-256": "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
		"sha-256": "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
	} {
		p := Params(text + algorithm)
		if got := Response("Mufasa", "Circle of Life", "GET", p); got != want {
			t.Errorf("%s: %s, want %s", algorithm, got, want)
		}
		a := Params(Answer("user", "secret", "DESCRIBE", "rtsp://h/s", p, 1))
		if a["algorithm"] != algorithm || a["response"] != Response("user", "secret", "DESCRIBE", a) {
			t.Errorf("%s: %v", algorithm, a)
		}
	}
}

func FuzzParams(f *testing.F) {
	f.Add(`realm="a, b=c", nonce=x,qop="auth"`)
	f.Add(`a="`)
	f.Fuzz(func(t *testing.T, text string) {
		size := 0
		for name, value := range Params(text) {
			size += len(name) + len(value)
		}
		if size > len(text)*4 { // lower case may be longer
			t.Fatalf("%d bytes of %d", size, len(text))
		}
	})
}
