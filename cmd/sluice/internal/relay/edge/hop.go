package edge

import (
	"fmt"
	"maps"
	"net/url"
	"strings"

	"github.com/sluice-go/sluice/live"
)

// hopKey is the key in the query of a server that asks another for marks. Its value
// is EPOCH.NUMBER of the latest frame that it has.
const hopKey = "hop"

// hopQuery returns the query for a stream with marks, behind the one given, which may
// be zero.
func hopQuery(after live.Mark) url.Values {
	return url.Values{hopKey: {fmt.Sprintf("%d.%d", after.Epoch, after.Number)}}
}

// ParseHop reads what hopQuery made, and reports whether the query has it. What
// cannot be read is the zero mark.
func ParseHop(q url.Values) (after live.Mark, ok bool) {
	if !q.Has(hopKey) {
		return live.Mark{}, false
	}
	if _, err := fmt.Sscanf(strings.Replace(q.Get(hopKey), ".", " ", 1), "%d %d", &after.Epoch, &after.Number); err != nil {
		return live.Mark{}, true
	}
	return after, true
}

// With returns the origin with more in its query.
func (o *Origin) With(more url.Values) *Origin {
	c := *o
	c.query = maps.Clone(o.query)
	maps.Copy(c.query, more)
	return &c
}
