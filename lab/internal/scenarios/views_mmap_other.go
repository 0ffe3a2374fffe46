//go:build !unix

package scenarios

import (
	"errors"
	"fmt"
	"os"
)

func mapFile(*os.File, int) ([]byte, func() error, error) {
	return nil, nil, fmt.Errorf("scenarios: mapping a file: %w", errors.ErrUnsupported)
}
