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
