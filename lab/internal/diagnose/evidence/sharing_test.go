package evidence

import (
	"bytes"
	"testing"
	"time"
)

// Two threads write to one line: at the same time, or one after the other as with a lock, when
// there are half as many samples.
func TestALineIsSharedByThreadsThatRunAtTheSameTime(t *testing.T) {
	t.Parallel()
	code := bytes.NewReader([]byte{0x48, 0xff, 0x00, 0xc3}) // incq (%rax); ret
	const every = time.Second / sharingRate
	threads := func(alternating bool) (list []sample) {
		for i := range 4000 {
			for thread := range 2 {
				if !alternating || i%2 == thread {
					list = append(list, sample{
						thread: thread + 1, at: time.Duration(i)*every + time.Duration(thread)*every/3,
						where: Frame{Func: "count"}, regs: map[string]uint64{"AX": uint64(1<<20 + 8*thread)},
					})
				}
			}
		}
		return list
	}
	d := &decoder{mem: code, known: map[uint64][]access{}}
	if s := d.share(threads(false)); s.Parallel < 0.9 || s.Shared < 0.9 || s.Where == nil || s.Where.Func != "count" || s.Threads != 2 {
		t.Errorf("at the same time: %+v", s)
	}
	if s := d.share(threads(true)); s.Parallel > 0.1 || s.Shared > 0.1 {
		t.Errorf("one after the other: %+v", s)
	}
}
