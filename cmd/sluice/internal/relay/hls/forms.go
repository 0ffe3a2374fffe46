package hls

import (
	"bytes"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
)

// forms remember of each kind of track whether there can be one with the latest
// configuration: finding it out makes an initialization.
type forms [2]struct {
	of   *au.Config
	have bool
}

func (f *forms) have(kind int, c *au.Config) bool {
	if one := &f[kind]; one.of != c {
		one.of, one.have = c, hasForm(kind, c)
	}
	return f[kind].have
}

// sameConfig reports whether a decoder need not begin again.
func sameConfig(a, b *au.Config) bool {
	return a.Codec == b.Codec && a.Rate == b.Rate && a.Channels == b.Channels && bytes.Equal(a.Record, b.Record)
}
