package record

import (
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// maxOmitted is how many codecs are remembered as left out, and how often that is said: frames may name any.
const maxOmitted = 32

// omitted are the codecs for which the files of a stream have no form.
type omitted struct {
	configs map[flv.FourCC]*au.Config // what they were, nil: none; at most maxOmitted
	times   int                       // that add was called
}

// add remembers a codec with its configuration, nil for none. It reports whether that is to be said.
func (o *omitted) add(codec flv.FourCC, c *au.Config) bool {
	if o.configs == nil {
		o.configs = map[flv.FourCC]*au.Config{}
	}
	if _, known := o.configs[codec]; known || len(o.configs) < maxOmitted {
		o.configs[codec] = c
	}
	o.times++
	return o.times <= maxOmitted
}

// has reports whether the codec was left out with this configuration.
func (o *omitted) has(codec flv.FourCC, c *au.Config) bool {
	had, ok := o.configs[codec]
	return ok && (c == had || c != nil && had != nil && c.Equal(had))
}
