package listen

import (
	"net/http"
	"testing"
)

// Whatever a client puts into the line before its proxy does, the last element is
// the proxy's, or the request is refused.
func FuzzForwardedByAProxy(f *testing.F) {
	for _, seed := range []string{"", "for=198.51.100.1", `for="[2001:db8::1]:80";by=_x`, `for="`, `x="\`, "for=1;for=2", ";;", ",", `a="b"c`, "=", "for"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		for _, added := range []string{"for=203.0.113.9", `proto=https;for="203.0.113.9";by=_p`} {
			nodes, ok := forwarded(http.Header{"Forwarded": {sent + ", " + added}})
			if ok && nodes[len(nodes)-1] != "203.0.113.9" {
				t.Errorf("%q before %q: %q", sent, added, nodes)
			}
		}
	})
}
