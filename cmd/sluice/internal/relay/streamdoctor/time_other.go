//go:build !unix

package streamdoctor

import "time"

// ProcessTime is not known here: 0.
func ProcessTime() time.Duration { return 0 }
