//go:build !unix

package doctor

import (
	"errors"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

func descriptors(config.Config) []Finding {
	return []Finding{{Unknown, "descriptors", "not known on this system"}}
}

func freeSpace(string) (int64, error) { return 0, errors.ErrUnsupported }
