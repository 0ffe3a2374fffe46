package soak

import (
	"fmt"
	"math"
)

const (
	// warmUp is the part of a run that is not judged.
	warmUp = 0.25
	// most is by how much of its mean a curve may grow from the warm-up to the end.
	most = 0.02
	// noise is how many standard errors a slope has to be above zero to count.
	noise = 3
	// fewest are the samples without which nothing is judged.
	fewest = 8
)

// growth fits a line through the samples after the warm-up (least squares), and returns
// how much it rises, the mean, and the standard error of the rise.
func growth(samples []Sample, of func(Sample) float64) (rise, mean, deviation float64) {
	samples = samples[int(float64(len(samples))*warmUp):]
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

// Faults says which curves grow beyond the noise, by more than is allowed. With too few
// samples it says that.
func Faults(samples []Sample) (faults []string) {
	if len(samples) < fewest {
		return []string{fmt.Sprintf("%d samples are too few to judge, want %d: a longer run", len(samples), fewest)}
	}
	for _, q := range quantities {
		if !q.judged || q.of(samples[0]) < 0 {
			continue
		}
		rise, mean, deviation := growth(samples, q.of)
		if allowed := most*mean + q.slack; rise > allowed && rise > noise*deviation {
			faults = append(faults, fmt.Sprintf("%s grew by %.4g %s (standard error %.2g) beside a mean of %.4g, allowed are %.4g", q.name, rise, q.unit, deviation, mean, allowed))
		}
	}
	return faults
}
