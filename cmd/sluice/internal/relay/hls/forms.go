package hls

import "github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"

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
