//go:build !linux

package source

import "time"

// ticks come at an interval.
type ticks struct{ ticker *time.Ticker }

func newTicks(every time.Duration) *ticks { return &ticks{time.NewTicker(every)} }

// wait returns when the next tick has come.
func (t *ticks) wait() { <-t.ticker.C }

func (t *ticks) stop() { t.ticker.Stop() }
