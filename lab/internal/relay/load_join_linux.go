package relay

import "time"

// window passes the time of the measurement, in which further viewers join.
func (l *load) window(start time.Duration) error {
	if l.work.Joins == 0 {
		return l.pass(start + l.work.Window)
	}
	to, err := address(l.work.View)
	if err != nil {
		return err
	}
	for left := l.work.Window; left > 0; left = start + l.work.Window - l.now() {
		due := l.work.Joins
		if !l.work.AtOnce {
			due = int(int64(due) * int64(l.now()-start) / int64(l.work.Window))
		}
		// A few at a time, so that what has come is not looked at late.
		for n := 0; n < joining && len(l.viewers) < l.work.Viewers+due; n++ {
			if err := l.connect(to, false); err != nil {
				return err
			}
		}
		if err := l.step(min(left, moderation/4)); err != nil {
			return err
		}
		if l.work.AtOnce {
			l.dismiss()
		}
	}
	return nil
}

// dismiss closes the connections of those who have joined in the window and have a key
// frame.
func (l *load) dismiss() {
	for _, v := range l.viewers[l.work.Viewers:] {
		if !v.gone && v.key > 0 {
			v.close()
			v.gone = true
		}
	}
}
