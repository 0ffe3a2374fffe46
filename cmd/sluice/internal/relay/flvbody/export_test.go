package flvbody

import "github.com/sluice-go/sluice"

// Fed is the reader of the body's bytes.
func (b *Reader) Fed() *sluice.BufReader { return b.fed }
