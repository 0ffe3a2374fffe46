package soak

import (
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	// warmUp is the part of a run that is not judged, at least.
	warmUp = 0.25
	// again is how many times as long as work takes to become steady is not judged: what was
	// filled in step gets out of it.
	again = 2
	// latest is the part of a run after which nothing is judged of work that was not steady
	// before: too little is left to tell a slow wave from growth.
	latest = 0.5
	// most is by how much of its mean a curve may grow from the warm-up to the end.
	most = 0.02
	// noise is how many standard errors a slope has to be above zero to count.
	noise = 3
	// fewest are the samples without which nothing is judged.
	fewest = 8
	// never is when work becomes steady that has not until the end.
	never = time.Duration(math.MaxInt64)
)

// A Verdict is the answer of a watch as a code.
type Verdict string

const (
	Steady   Verdict = "steady"    // nothing grew beyond the noise
	Grew     Verdict = "grew"      // something did
	TooShort Verdict = "too-short" // the run was too short to judge
)

// A Judgement is what a run comes to.
type Judgement struct {
	Verdict Verdict
	Texts   []string      // what grew, or why it cannot be judged
	From    time.Duration // what came before is not judged
}

// growth fits a line through the samples (least squares), and returns
// how much it rises, the mean, and the standard error of the rise.
func growth(samples []Sample, of func(Sample) float64) (rise, mean, deviation float64) {
	n := float64(len(samples))
	var x, y float64
	for _, s := range samples {
		x += s.At.Seconds() / n
		y += of(s) / n
	}
	var xx, xy float64
	for _, s := range samples {
		dx := s.At.Seconds() - x
		xx += dx * dx
		xy += dx * (of(s) - y)
	}
	if xx == 0 || n < 3 {
		return 0, y, math.Inf(1)
	}
	slope := xy / xx
	var squares float64
	for _, s := range samples {
		r := of(s) - y - slope*(s.At.Seconds()-x)
		squares += r * r
	}
	span := (samples[len(samples)-1].At - samples[0].At).Seconds()
	return slope * span, y, math.Sqrt(squares/(n-2)/xx) * span
}

// Judge says which curves grow beyond the noise, by more than is allowed, after the warm-up and
// after twice settled, the time at which the work had become steady; 0 for work that always is.
func Judge(samples []Sample, settled time.Duration) Judgement {
	var end time.Duration
	if len(samples) > 0 {
		end = samples[len(samples)-1].At
	}
	j := Judgement{Verdict: TooShort, From: max(time.Duration(warmUp*float64(end)), min(again*min(settled, end), end))}
	judged := samples
	if i := slices.IndexFunc(samples, func(s Sample) bool { return s.At >= j.From }); i > 0 {
		judged = samples[i:]
	}
	switch {
	case settled > end:
		j.Texts = []string{fmt.Sprintf("too short to judge: after %v the work was not yet steady", end.Round(time.Second))}
		return j
	case len(judged) < fewest || j.From > time.Duration(latest*float64(end)):
		j.Texts = []string{fmt.Sprintf("too short to judge: of %v, what is before %v is not judged, and %d samples come after, want %d and half of the time", end.Round(time.Second), j.From.Round(time.Second), len(judged), fewest)}
		return j
	}
	j.Verdict = Steady
	for _, q := range quantities {
		if !q.judged || q.of(judged[0]) < 0 {
			continue
		}
		rise, mean, deviation := growth(judged, q.of)
		if allowed := most*mean + q.slack; rise > allowed && rise > noise*deviation {
			j.Verdict = Grew
			j.Texts = append(j.Texts, fmt.Sprintf("%s grew by %.4g %s (standard error %.2g) beside a mean of %.4g, allowed are %.4g", q.name, rise, q.unit, deviation, mean, allowed))
		}
	}
	return j
}
