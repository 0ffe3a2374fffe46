package config

import "time"

// MaxMerge is the longest time for which frames are collected.
const MaxMerge = 350 * time.Millisecond

// The values of Takeover.
const (
	TakeoverRefuse  = "refuse"
	TakeoverReplace = "replace"
	TakeoverStandby = "standby"
)

// Streams is how streams are kept and sent.
type Streams struct {
	Merge      time.Duration
	MergeAdapt bool
	GOP        bool
	GOPBytes   int
	GOPFrames  int
	GOPTime    time.Duration
	MaxFrame   int // bytes
	Grace      time.Duration
	Takeover   string // one of the constants
	// TakeoverAfter is for how long a publisher may send nothing while another stands by.
	TakeoverAfter time.Duration
}

func (g *Streams) settings() []Setting {
	return []Setting{
		{Name: "merge", Default: "95ms", Live: true, Scoped: true, Usage: "collect frames for this `time` and send them at once: 0 to 350ms; viewers may choose with ?merge=",
			value: duration(&g.Merge), fits: between(&g.Merge, 0, MaxMerge)},
		{Name: "merge-adapt", Default: "true", Live: true, Scoped: true, Usage: "collect frames for less than merge, or not at all, while there is little to do",
			value: boolean(&g.MergeAdapt)},
		{Name: "gop", Default: "true", Live: true, Scoped: true, Usage: "viewers begin with the key frame that is there, not with the next",
			value: boolean(&g.GOP)},
		{Name: "gop-bytes", Default: "16MiB", Live: true, Scoped: true, Usage: "keep at most this `size` of a stream, such as 16MiB",
			value: size(&g.GOPBytes), fits: sizeBetween(&g.GOPBytes, 64<<10, 1<<30)},
		{Name: "gop-frames", Default: "4096", Live: true, Scoped: true, Usage: "keep at most `N` frames of a stream",
			value: number(&g.GOPFrames), fits: between(&g.GOPFrames, 16, 1<<20)},
		{Name: "gop-time", Default: "30s", Live: true, Scoped: true, Usage: "keep at most this `time` of a stream",
			value: duration(&g.GOPTime), fits: between(&g.GOPTime, 100*time.Millisecond, 10*time.Minute)},
		{Name: "max-frame", Default: "8MiB", Usage: "end a publisher whose frame is longer than this `size`, whatever it publishes by",
			value: size(&g.MaxFrame), fits: sizeBetween(&g.MaxFrame, 64<<10, 16<<20-1)},
		{Name: "grace", Default: "5s", Live: true, Scoped: true, Usage: "a stream waits this `time` for its publisher to come back",
			value: duration(&g.Grace), fits: between(&g.Grace, 0, 10*time.Minute)},
		{Name: "takeover", Default: TakeoverRefuse, Live: true, Scoped: true, Usage: "`policy` for a second publisher of a stream: refuse it, let it replace the first, or let it stand by until the first has ended",
			value: text(&g.Takeover), Choices: []string{TakeoverRefuse, TakeoverReplace, TakeoverStandby}},
		{Name: "takeover-after", Default: "2s", Live: true, Scoped: true, Usage: "with takeover standby: also when the first has sent nothing for this `time`; 0: only when it has ended",
			value: duration(&g.TakeoverAfter), fits: zeroOr(&g.TakeoverAfter, 100*time.Millisecond, 10*time.Minute)},
	}
}
