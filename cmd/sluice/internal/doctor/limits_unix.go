//go:build unix

package doctor

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

// descriptors compares the limit of open files with what the configuration allows. The
// runtime raises the soft limit to the hard one.
func descriptors(c config.Config) []Finding {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return []Finding{{Unknown, "descriptors", err.Error()}}
	}
	need := uint64(c.Connections()) + ownDescriptors
	if uint64(l.Max) < need {
		return []Finding{{Warning, "descriptors", fmt.Sprintf("at most %d, and the limits of viewers, streams and handshakes come to %d: raise LimitNOFILE or ulimit -n, or lower --max-viewers", l.Max, need)}}
	}
	return []Finding{{OK, "descriptors", fmt.Sprintf("at most %d, %d are needed", l.Max, need)}}
}

func freeSpace(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert // types differ between systems
}
