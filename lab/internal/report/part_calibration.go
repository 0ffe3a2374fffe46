package report

import (
	"fmt"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/calibrate"
)

// A studyPart is what a page says of one calibration.
type studyPart struct {
	In      *inputLine
	Title   string
	Figures []fact
	Rounds  [][]string // with heads
	Known   [][]string // of timers and loopback, with heads
	Notes   []string
}

// A fact is a name and what it is.
type fact struct{ Name, Value string }

func newStudyPart(in *inputLine, r *calibrate.Result) studyPart {
	p := studyPart{In: in, Title: loadTitle(&r.Plan)}
	if r.Own {
		p.Title += ", a target that only answers, anew for each round"
	}
	add := func(name, value string) { p.Figures = append(p.Figures, fact{name, value}) }
	if r.Throughput.N > 0 {
		add("throughput", rate(r.Throughput.Mean))
		add("standard deviation", rate(r.Throughput.StdDev)+", "+share(r.Throughput.CV))
		add("requests", number(r.IOPS.Mean)+"/s ± "+share(r.IOPS.CV))
	}
	if r.Ratio.N > 0 {
		add("of the theory", share(r.Ratio.Mean)+" ± "+share(r.Ratio.StdDev))
	}
	heads := []string{"round", "throughput", "± within", "requests", "service time", "theory", "reached", "busy", ""}
	for i := range r.Rounds {
		round := &r.Rounds[i]
		row := []string{fmt.Sprint(i + 1), rate(round.Throughput), "–", number(round.IOPS) + "/s", "–", "–", "–", share(round.Busy), ""}
		if round.Within > 0 {
			row[2] = rate(round.Within)
		}
		if round.Valid {
			row[4] = timeText(round.Service)
		} else {
			row[8] = "INVALID: " + clipped(strings.Join(round.Reasons, "; "), 300)
		}
		if round.Theory > 0 {
			row[5], row[6] = number(round.Theory)+"/s", share(round.Ratio)
		}
		p.Rounds = append(p.Rounds, row)
	}
	if len(p.Rounds) > 0 {
		p.Rounds = append([][]string{heads}, p.Rounds...)
	}
	if r.Timer != nil || r.Loopback != nil {
		p.Known = [][]string{{"", "count", "P50", "P90", "P99", "max"}}
		if r.Timer != nil {
			p.Known = append(p.Known, distributionRow("a sleep of 1 ms ends late by", r.Timer))
		}
		if r.Loopback != nil {
			p.Known = append(p.Known, distributionRow("a round trip of 64 B on loopback", r.Loopback))
		}
	}
	if len(r.Rounds) < r.Asked {
		p.Notes = append(p.Notes, fmt.Sprintf("%d of %s that were asked for.", len(r.Rounds), plural(r.Asked, "round")))
	}
	p.Notes = append(p.Notes, "The theory is Little's law: requests under way divided by their mean service time.")
	return p
}

func checkCalibration(r *calibrate.Result) error {
	err := first(counts("rounds", len(r.Rounds), mostRounds), checkDistribution("timer", r.Timer), checkDistribution("loopback", r.Loopback))
	for _, s := range []calibrate.Spread{r.Throughput, r.IOPS, r.Ratio} {
		err = first(err, figures("a spread", s.Mean, s.StdDev, s.CV))
	}
	for _, round := range r.Rounds {
		err = first(err, figures("a figure of a round", round.Throughput, round.Within, round.IOPS, round.Theory, round.Ratio, round.Busy), times("a time of a round", round.Service, round.Measured))
	}
	return err
}
