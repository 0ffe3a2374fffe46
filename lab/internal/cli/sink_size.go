package cli

import (
	"strings"

	"github.com/sluice-go/sluice/lab/internal/units"
)

type byteSize int64

func (v *byteSize) Set(text string) error {
	n, err := units.ParseBytes(text)
	*v = byteSize(n)
	return err
}

func (v *byteSize) String() string {
	return strings.ReplaceAll(strings.TrimSuffix(units.Exact(int64(*v)), " B"), " ", "")
}

func (*byteSize) Type() string { return "size" }
