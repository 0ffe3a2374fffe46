package record

import "syscall"

// enoughRoom is how many free bytes a recording needs to begin again.
const enoughRoom = 64 << 20

// Room reports whether there is room for recordings, as far as that is known.
func (r *Recorder) Room() bool {
	var s syscall.Statfs_t
	if syscall.Statfs(r.options.Dir, &s) != nil {
		return true // unknown: the next write will fail if there is none
	}
	return int64(s.Bavail)*int64(s.Bsize) >= min(enoughRoom, int64(s.Blocks)*int64(s.Bsize)/16)
}
