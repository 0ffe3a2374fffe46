//go:build !linux

package wal

// maxParts bounds a list of parts as on Linux.
const maxParts = 1024

// WriteParts is one write for each part: x/sys has no pwritev for all systems.
func (f osFile) WriteParts(parts [][]byte, off int64) (int, error) {
	done := 0
	for _, p := range parts {
		n, err := f.WriteAt(p, off+int64(done))
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}
