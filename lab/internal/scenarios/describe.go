package scenarios

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/relay"
	"github.com/sluice-go/sluice/netsim"
)

// descriptions say of each scenario all but its variants. The form stands at their head.
//
//go:embed scenarios.txt
var descriptions string

var (
	workForm   = regexp.MustCompile(`^(\d+) (.+), (\S+) to (\S+?)(, fixed)?(, named)?$`)
	targetForm = regexp.MustCompile(`^(\S+)(?: (\S+))? (<=|>=) (\S+)(?: of (\S+))?(?: on (\S+))?$`)
)

// describe makes the scenario of that name.
func describe(name string, variants ...lab.Variant) lab.Scenario {
	sc, here := lab.Scenario{Name: name, Variants: variants}, false
	for line := range strings.Lines(descriptions) {
		switch text := strings.TrimSpace(line); {
		case line[0] != '\t':
			here = slices.Contains(strings.Fields(text), name)
		case !here:
		case sc.Title == "":
			parts := strings.Split(name+"/", "/")
			sc.Title = strings.ReplaceAll(onThisMachine().Replace(text), "{size}", parts[1])
		case sc.Op == "":
			is := fields(workForm, text)
			sc.Ops, sc.Op, sc.Metric, sc.Baseline, sc.Fixed, sc.Named = int(number(is[1])), is[2], is[3], is[4], is[5] != "", is[6] != ""
		default:
			if is := fields(targetForm, text); is[6] == "" || is[6] == vendor() {
				t := lab.Target{Variant: is[1], Metric: is[2], Against: is[5]}
				if t.AtMost = number(is[4]); is[3] == ">=" {
					t.AtMost, t.AtLeast = 0, t.AtMost
				}
				sc.Targets = append(sc.Targets, t)
			}
		}
	}
	if sc.Op == "" {
		panic("scenarios: scenarios.txt does not describe " + name)
	}
	return sc
}

func fields(form *regexp.Regexp, text string) []string {
	if found := form.FindStringSubmatch(text); found != nil {
		return found
	}
	panic("scenarios: in scenarios.txt: " + text)
}

func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprint("scenarios: in scenarios.txt: ", err))
	}
	return n
}

func vendor() string {
	if strings.Contains(machine.This().CPU, "Intel") {
		return "Intel"
	}
	return "AMD"
}

// onThisMachine replaces what titles have in braces.
var onThisMachine = sync.OnceValue(func() *strings.Replacer {
	clip := "720p30 at 2 Mbit/s"
	if _, err := relay.FFmpeg(); err != nil {
		clip = "640x360 at 0.9 Mbit/s, as no ffmpeg is here to make the real clip"
	}
	pairs := []string{"{clip}", clip, "{vendor}", vendor()}
	for _, condition := range netsim.Conditions() {
		pairs = append(pairs, "{"+condition.Name+"}", condition.String())
	}
	return strings.NewReplacer(pairs...)
})
