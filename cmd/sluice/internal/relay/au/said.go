package au

import (
	"slices"

	"github.com/sluice-go/sluice/amf0"
)

// Said are those properties of script data, such as metadata, that have one of these names and are
// numbers, booleans or short strings, of each the last; nil when the data has no properties, or is invalid. What
// else is in it costs little: a publisher may send 65,000 values, and viewers ask for a stream's tracks again and again.
func Said(script []byte, names ...string) amf0.Object {
	found := amf0.Object{}
	one := amf0.Limits{Values: 1, Bytes: 1 << 10}
	if _, rest, err := one.Parse(script); err == nil && len(rest) > 0 {
		script = rest
	}
	err := amf0.Each(script, func(name, value []byte) bool {
		if !slices.Contains(names, string(name)) {
			return true
		}
		v, _, err := one.Parse(value)
		if err != nil {
			return true
		}
		p := amf0.Property{Name: string(name), Value: v}
		if i := slices.IndexFunc(found, func(have amf0.Property) bool { return have.Name == p.Name }); i >= 0 {
			found[i] = p
		} else {
			found = append(found, p)
		}
		return true
	})
	if err != nil {
		return nil
	}
	return found
}
