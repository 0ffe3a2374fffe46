package cli

import (
	"fmt"
	"strconv"
	"strings"
)

// byteSize is a flag's number of bytes, with KiB, MiB or GiB.
type byteSize int64

var byteUnits = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

func (v *byteSize) Set(text string) error {
	number, unit := text, int64(1)
	for _, u := range byteUnits {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return fmt.Errorf("%q is not a size, such as 65536, 512KiB or 16MiB", text)
	}
	*v = byteSize(n * unit)
	return nil
}

func (v *byteSize) String() string {
	for _, u := range byteUnits {
		if n := int64(*v); n > 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*v), 10)
}

func (*byteSize) Type() string { return "size" }
