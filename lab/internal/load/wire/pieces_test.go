package wire

import (
	"errors"
	"testing"
)

// read gives a protocol the bytes of replies in pieces of at most n bytes, and returns
// the outcomes.
func read(t *testing.T, p Protocol, replies string, n int) (list []Outcome, err error) {
	t.Helper()
	for rest := []byte(replies); len(rest) > 0; {
		piece := rest[:min(n, len(rest))]
		used, o, err := p.Reply(&Request{Size: 1, Sent: 1 << 30}, piece)
		if err != nil {
			if !errors.Is(err, ErrReply) {
				t.Errorf("%q: %v is no ErrReply", replies, err)
			}
			return list, err
		}
		if used == 0 || used > len(piece) || !o.Done && used < len(piece) {
			t.Fatalf("%q in pieces of %d: %d bytes of %d used, %+v", replies, n, used, len(piece), o)
		}
		rest = rest[used:]
		if o.Done {
			list = append(list, o)
		}
	}
	return list, nil
}

// chunkings are the sizes of pieces that replies come in.
var chunkings = []int{1, 2, 3, 7, 64, 1 << 20}

// each reads replies in every chunking with a protocol of its own.
func each(t *testing.T, make func() Protocol, replies string, want []Outcome) {
	t.Helper()
	for _, n := range chunkings {
		got, err := read(t, make(), replies, n)
		if err != nil || len(got) != len(want) {
			t.Errorf("%q in pieces of %d: %+v, %v", replies, n, got, err)
			continue
		}
		for i := range want {
			want[i].Done = true
			if got[i] != want[i] {
				t.Errorf("%q in pieces of %d: reply %d is %+v, want %+v", replies, n, i, got[i], want[i])
			}
		}
	}
}

// none reads what is no reply.
func none(t *testing.T, make func() Protocol, replies string) {
	t.Helper()
	for _, n := range chunkings {
		if got, err := read(t, make(), replies, n); err == nil {
			t.Errorf("%q in pieces of %d: %+v and no error", replies, n, got)
		}
	}
}
