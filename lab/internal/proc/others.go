package proc

import "time"

// Others is the processor time that neither the calling process nor its children which have ended have used,
// other virtual machines' included, at a moment.
type Others struct {
	used       time.Duration
	processors int // of the machine, 0 when nothing is known
	at         time.Time
}

// Since is the time between two moments.
func (o Others) Since(earlier Others) time.Duration { return o.at.Sub(earlier.at) }

// To is how many of the machine's processors others used on average until a later moment; of 0 when that is
// not known.
func (o Others) To(later Others) (used float64, of int) {
	took := later.at.Sub(o.at)
	if o.processors == 0 || later.processors == 0 || took <= 0 {
		return 0, 0
	}
	return min(max(0, (later.used-o.used).Seconds()/took.Seconds()), float64(later.processors)), later.processors
}
