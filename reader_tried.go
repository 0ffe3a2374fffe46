package sluice

// tried is what calls that lacked bytes have found out of what a fed reader has. A repeated call goes on from
// there, so that bytes which come one by one cost about what they cost together.
type tried struct {
	// The search for a delimiter from this place in the stream has passed n bytes.
	at    int64
	n     int
	delim byte

	header *header // its whole lines so far
}

// position is how many bytes of the stream are consumed.
func (b *BufReader) position() int64 { return b.win.Received() - int64(b.win.Len()) }

// tried returns what is known of a fed reader's earlier calls, nil for others: those wait in their calls.
func (b *BufReader) tried() *tried {
	if b.kind != fed {
		return nil
	}
	return &b.feed.Load().tried
}

// searched returns how many of the next bytes are known to have no delim.
func (b *BufReader) searched(delim byte) int {
	if t := b.tried(); t != nil && t.n > 0 && t.delim == delim && t.at == b.position() {
		return t.n
	}
	return 0
}

// noDelim notes that the next n bytes have no delim.
func (b *BufReader) noDelim(n int, delim byte) {
	if t := b.tried(); t != nil {
		t.at, t.n, t.delim = b.position(), n, delim
	}
}
