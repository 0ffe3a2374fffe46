package wire

import "testing"

func TestSecretsAreHidden(t *testing.T) {
	for _, c := range []struct {
		hide       func(string) string
		text, want string
	}{
		{Public, "redis://:p,w@a:1/2,rediss://me@b", "redis://***@a:1/2,rediss://***@b"},
		{Public, "http://a:b@c@host/x@y?u=http://q", "http://***@host/x@y?u=http://q"},
		{Public, "http://host/@me, me@host:1 unix:/a@b", "http://host/@me, me@host:1 unix:/a@b"},
		{PublicHeader, "Authorization: Bearer x", "Authorization: ***"},
		{PublicHeader, "cookie:a", "cookie: ***"},
		{PublicHeader, "Accept-Encoding: br", "Accept-Encoding: br"},
		{PublicHeader, "content-type: a/b", "content-type: a/b"},
		{PublicCommand, "auth me x", "auth ***"},
		{PublicCommand, "HELLO 3 AUTH me x", "HELLO 3 AUTH ***"},
		{PublicCommand, "SET  auth {data}", "SET  auth {data}"},
		{PublicCommand, "GET  auth", "GET  auth"},
	} {
		if got := c.hide(c.text); got != c.want {
			t.Errorf("%q is shown as %q, want %q", c.text, got, c.want)
		}
	}
}
