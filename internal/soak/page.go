package soak

import (
	"fmt"
	"html"
	"strings"
	"time"
)

// page is the curves of a run as HTML: a drawing for each quantity that is known.
func page(name string, samples []Sample, j Judgement) string {
	const width, height = 720.0, 120.0
	var b strings.Builder
	fmt.Fprintf(&b, `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>%[1]s</title>
<style>body{font:16px/1.4 system-ui,sans-serif;max-width:46rem;margin:1rem auto;padding:0 1rem;color-scheme:light dark}svg{width:100%%;height:auto}polyline{fill:none;stroke:currentColor;stroke-width:1.5}rect{fill:currentColor;opacity:.06}</style>
<h1>%[1]s</h1>`, html.EscapeString(name))
	if j.Verdict == Steady {
		b.WriteString("<p>Nothing grew beyond the noise.</p>")
	}
	for _, f := range j.Texts {
		fmt.Fprintf(&b, "<p><strong>%s</strong></p>", html.EscapeString(f))
	}
	if len(samples) > 0 {
		fmt.Fprintf(&b, "<p>%v, %d samples. The shaded part is not judged.</p>", samples[len(samples)-1].At.Round(time.Second), len(samples))
	}
	shaded := 0.0
	if len(samples) > 0 {
		shaded = width * min(1, j.From.Seconds()/samples[len(samples)-1].At.Seconds())
	}
	for _, q := range quantities {
		if len(samples) == 0 || q.of(samples[len(samples)-1]) < 0 {
			continue
		}
		highest := 0.0
		for _, s := range samples {
			highest = max(highest, q.of(s))
		}
		fmt.Fprintf(&b, "<h2>%s, 0 to %.4g %s</h2>\n<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"%[1]s over time\"><rect width=\"%[6]g\" height=\"%[5]g\"/><polyline points=\"", q.name, highest, q.unit, width, height, shaded)
		end := samples[len(samples)-1].At.Seconds()
		for _, s := range samples {
			fmt.Fprintf(&b, "%.1f,%.1f ", s.At.Seconds()/end*width, height-max(q.of(s), 0)/max(highest, 1e-9)*height)
		}
		b.WriteString("\"/></svg>\n")
	}
	return b.String()
}
