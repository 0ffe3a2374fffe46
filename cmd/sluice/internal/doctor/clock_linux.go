package doctor

import "golang.org/x/sys/unix"

// clock asks the kernel whether the time is synchronized with another clock (adjtimex(2)).
func clock() Finding {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil {
		return Finding{Unknown, "clock", err.Error()}
	}
	const unsynchronized = 0x40 // STA_UNSYNC
	if t.Status&unsynchronized != 0 {
		return Finding{Warning, "clock", "not synchronized: tokens and recordings have times; run chrony or systemd-timesyncd"}
	}
	return Finding{OK, "clock", "synchronized"}
}
