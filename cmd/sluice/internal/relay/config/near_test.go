package config

import "testing"

// A key that no setting has is said with the one that may be meant, and where a secret comes from.
func TestUnknownKeysSayWhatMayBeMeant(t *testing.T) {
	for key, says := range map[string]string{
		"max-viewer": "; there is max-viewers", "max_viewers": "; there is max-viewers", "MaxViewers": "; there is max-viewers", "gopp": "; there is gop", "rtpm": "; there is rtmp",
		"api-token": ": it is secret, and comes from the environment only, as SLUICE_API_TOKEN", "port": "", "tokens": "", "": "",
	} {
		c := Default()
		if got := c.Meant(key); got != says {
			t.Errorf("%q: %q, want %q", key, got, says)
		}
	}
	for text, says := range map[string]string{
		"max-viewer: 5\n":                 `:1:1: unknown key "max-viewer"; there is max-viewers`,
		"streams: {live/*: {gopp: no}}\n": `:1:20: unknown key "gopp"; there is gop`,
	} {
		c := Default()
		name := configFile(t, text)
		if err := c.ReadFile(name); err == nil || err.Error() != name+says {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTypingErrors(t *testing.T) {
	for _, c := range []struct {
		a, b string
		n    int
	}{{"", "", 0}, {"", "AB", 2}, {"AB", "", 2}, {"RTMP", "RTMP", 0}, {"RTPM", "RTMP", 1}, {"RTMPS", "RTMP", 1}, {"RTM", "RTMP", 1}, {"HTMP", "RTMP", 1}, {"KITTEN", "SITTING", 3}} {
		if n := typingErrors(c.a, c.b); n != c.n {
			t.Errorf("%q, %q: %d, want %d", c.a, c.b, n, c.n)
		}
	}
}
