package wire

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func aRedis() Protocol {
	r, err := newRedis(&Redis{}, NewContent(1, 1, 16))
	if err != nil {
		panic(err)
	}
	return r
}

func TestRedisReplies(t *testing.T) {
	for replies, want := range map[string][]Outcome{
		"+PONG\r\n:12\r\n":                                                                       {{Payload: 4}, {Payload: 2}},
		"-ERR no\r\n+OK\r\n-ERR more\r\n":                                                        {{Class: 1, Says: "ERR no"}, {Payload: 2}, {Class: 1, Says: "ERR no"}},
		"$5\r\nhello\r\n$-1\r\n$0\r\n\r\n":                                                       {{Payload: 5}, {}, {}},
		"*2\r\n$1\r\na\r\n*2\r\n:1\r\n$-1\r\n*0\r\n*-1\r\n":                                      {{Payload: 2}, {}, {}},
		"*2\r\n+a\r\n-ERR b\r\n":                                                                 {{Class: 1, Payload: 1, Says: "ERR b"}},
		"%1\r\n+k\r\n#t\r\n~1\r\n,1.5\r\n_\r\n(99\r\n=5\r\ntxt:x\r\n":                            {{Payload: 2}, {Payload: 3}, {}, {Payload: 2}, {Payload: 5}},
		">2\r\n+invalidate\r\n*1\r\n$1\r\na\r\n+OK\r\n>1\r\n_\r\n>1\r\n-x\r\n:7\r\n":             {{Payload: 2}, {Payload: 1}},
		"|1\r\n+a\r\n+b\r\n:7\r\n!2\r\nno\r\n":                                                   {{Payload: 3}, {Class: 1, Payload: 2, Says: "no"}},
		"$?\r\n;4\r\nHell\r\n;5\r\no wor\r\n;0\r\n*2\r\n$?\r\n;0\r\n+b\r\n:1\r\n":                {{Payload: 9}, {Payload: 1}, {Payload: 1}},
		"*?\r\n:1\r\n*2\r\n+a\r\n%?\r\n+k\r\n$?\r\n;1\r\nv\r\n;0\r\n.\r\n.\r\n~?\r\n.\r\n+?\r\n": {{Payload: 4}, {}, {Payload: 1}},
		"*2\r\n!8\r\nERR a\r\nb\r\n$2\r\nhi\r\n!3\r\nERR\r\n":                                    {{Class: 1, Payload: 10, Says: "ERR a\r\nb"}, {Class: 1, Payload: 3, Says: "ERR a\r\nb"}},
	} {
		each(t, aRedis, replies, want)
	}
	for _, replies := range []string{"HTTP/1.1 200 OK\r\n", "\r\n", "$x\r\n", "$-2\r\n", "$99999999999\r\n", "+OK\n", ".\r\n", ";1\r\na\r\n", "$?\r\n+a\r\n", "$?\r\n;-1\r\n", "*?\r\n*1\r\n.\r\n", "|?\r\n", strings.Repeat("*?\r\n", mostOpen+1), "+" + strings.Repeat("x", mostLine+10)} {
		none(t, aRedis, replies)
	}
}

// A push message may come while no request is under way, and anything else may not.
func TestRedisPushes(t *testing.T) {
	for _, size := range chunkings {
		p := aRedis().(Pusher)
		for rest := []byte(">2\r\n+invalidate\r\n*1\r\n$1\r\na\r\n>1\r\n-x\r\n"); len(rest) > 0; {
			n, err := p.Pushed(rest[:min(size, len(rest))])
			if n == 0 || err != nil {
				t.Fatalf("in pieces of %d: %d bytes of %q, %v", size, n, rest, err)
			}
			rest = rest[n:]
		}
		if n, err := p.Pushed([]byte("+OK\r\n")); n != 0 || err != nil {
			t.Errorf("a reply that was not asked for: %d bytes, %v", n, err)
		}
	}
}

// Requests are what redis-cli would send, each the same however often it is asked for.
func TestRedisRequests(t *testing.T) {
	content := NewContent(1, 7, 100)
	r, err := newRedis(&Redis{Commands: []string{"SET key:{rand} {data}", "GET {rand}{x}{rand}", "PING"}, Keys: 10}, content)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for seq := range uint64(300) {
		q := &Request{Conn: 3, Seq: seq, Size: 1 + int(seq%100)}
		got := string(r.Bytes(q, 0))
		if length := r.Len(q); length != len(got) || string(r.Bytes(q, 0)) != got {
			t.Fatalf("request %d is %q and of %d bytes", seq, got, length)
		}
		numbers := regexp.MustCompile(`00000000000[0-9]`).FindAllString(got, -1)
		want := "*1\r\n$4\r\nPING\r\n"
		switch {
		case seq%3 == 0 && len(numbers) == 1:
			want = fmt.Sprintf("*3\r\n$3\r\nSET\r\n$16\r\nkey:%s\r\n$%d\r\n%s\r\n", numbers[0], q.Size, content.Append(nil, q))
			seen[numbers[0]] = true
		case seq%3 == 1 && len(numbers) == 2:
			want = fmt.Sprintf("*2\r\n$3\r\nGET\r\n$27\r\n%s{x}%s\r\n", numbers[0], numbers[1])
		}
		if got != want {
			t.Fatalf("request %d is %q, want %q", seq, got, want)
		}
	}
	if len(seen) != 10 {
		t.Errorf("%d of 10 numbers were drawn", len(seen))
	}
	for _, command := range []string{"", " ", "subscribe x", "unsubscribe", "MONITOR"} {
		if _, err := newRedis(&Redis{Commands: []string{command}}, content); err == nil {
			t.Errorf("%q is a command", command)
		}
	}
}

func FuzzRedisReply(f *testing.F) {
	f.Add([]byte("*2\r\n$1\r\na\r\n*2\r\n:1\r\n$-1\r\n|1\r\n+a\r\n+b\r\n:7\r\n"), uint8(2))
	f.Fuzz(func(t *testing.T, replies []byte, n uint8) { alikeInPieces(t, aRedis, replies, n) })
}

func TestOwnReplies(t *testing.T) {
	for reply, c := range map[string]struct {
		bytes string
		want  []Outcome
	}{
		"fixed:3":           {"abcdef", []Outcome{{Payload: 3}, {Payload: 3}}},
		`delimiter:\r\n`:    {"ab\r\n\r\n\r\r\n", []Outcome{{Payload: 4}, {Payload: 2}, {Payload: 3}}},
		`delimiter:"aab\0"`: {"\"aab\x00\"xx\"aab\"aab\x00\"", []Outcome{{Payload: 6}, {Payload: 12}}},
		"length:1":          {"\x02ab\x00\x01c", []Outcome{{Payload: 2}, {}, {Payload: 1}}},
		"length:2":          {"\x00\x02ab", []Outcome{{Payload: 2}}},
		"length:4le":        {"\x02\x00\x00\x00ab\x00\x00\x00\x00", []Outcome{{Payload: 2}, {}}},
		"length:8":          {"\x00\x00\x00\x00\x00\x00\x00\x01a", []Outcome{{Payload: 1}}},
	} {
		each(t, func() Protocol {
			o, err := newOwn(&Own{Request: []byte("x"), Reply: reply})
			if err != nil {
				t.Fatal(err)
			}
			return o
		}, c.bytes, c.want)
	}
	for _, reply := range []string{"", "fixed:0", "fixed:x", "delimiter:", `delimiter:\q`, "length:3", "length:", "until:x"} {
		if _, err := newOwn(&Own{Request: []byte("x"), Reply: reply}); err == nil {
			t.Errorf("%q is an end", reply)
		}
	}
	if _, err := newOwn(&Own{Reply: "fixed:1"}); err == nil {
		t.Error("a request of no bytes")
	}
	none(t, func() Protocol {
		o, _ := newOwn(&Own{Request: []byte("x"), Reply: "length:8le"})
		return o
	}, "\xff\xff\xff\xff\xff\xff\xff\xff")
}

func FuzzOwnReply(f *testing.F) {
	f.Add([]byte("aabaaab"), uint8(2), "aab")
	f.Fuzz(func(t *testing.T, replies []byte, n uint8, delimiter string) {
		if len(delimiter) == 0 || len(delimiter) > 20 {
			return
		}
		make := func() Protocol { return &own{same: same("x"), delimiter: []byte(delimiter)} }
		alikeInPieces(t, make, replies, n)
		got, _ := read(t, make(), string(replies), int(n)+1)
		if want := bytes.Count(replies, []byte(delimiter)); len(got) != want {
			t.Fatalf("%q has %d times %q: %+v", replies, want, delimiter, got)
		}
	})
}

func TestTargets(t *testing.T) {
	for _, text := range []string{"127.0.0.1:1", "unix:/x", "tcp://a:1", "tcp+tls://a:1", "http://a", "https://a/x,y", "ws://a", "wss://a/b?c", "redis://a", "redis://u:p@a:1/3", "rediss://[::1]", "file:/nonexistent/x"} {
		if _, err := ParseTarget(text, &Options{}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, options := range map[string]Options{
		"": {}, "unix:": {}, "a": {}, "tcp://a": {}, "ftp://a": {}, "http://": {}, "http://a:0": {}, "http://a:99999": {}, "tcp://a:1/x": {}, "file:": {}, "file:/dev": {},
		"redis://a":   {HTTP: &HTTP{}},
		"http://a":    {Redis: &Redis{}},
		"http://b":    {Own: &Own{Request: []byte("x"), Reply: "fixed:1"}},
		"http://c":    {HTTP: &HTTP{Headers: []string{"no colon"}}},
		"http://d":    {HTTP: &HTTP{Headers: []string{"A: b\r\nC: d"}}},
		"http://e":    {HTTP: &HTTP{Headers: []string{"Content-Length: 5"}}},
		"http://f":    {HTTP: &HTTP{Method: "GET /"}},
		"http://g":    {Insecure: true},
		"ws://a":      {HTTP: &HTTP{Method: "POST"}},
		"a:1":         {File: &File{}},
		"file:/x":     {File: &File{Pattern: "erase"}},
		"file:/y":     {File: &File{Pattern: "read", Sync: 1}},
		"tcp://a:1":   {Own: &Own{Request: []byte("x"), Reply: "x"}},
		"redis://b/1": {Redis: &Redis{Commands: []string{"MONITOR"}}},
	} {
		if _, err := ParseTarget(text, &options); !errors.Is(err, ErrTarget) {
			t.Errorf("%s with %+v: %v", text, options, err)
		}
	}
}
