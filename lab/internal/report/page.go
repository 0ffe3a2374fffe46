package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// mostRaw is how many bytes of raw results a page carries.
const mostRaw = 24 << 20

// WriteReport writes one page of any results, in their order, that opens without
// a network, as WriteHTML does for those of bench. Results of the same kind
// are also set side by side: the first against each other one.
func WriteReport(w io.Writer, results []*Result) error {
	if len(results) == 0 {
		return errors.New("report: no results to make a page of")
	}
	d := reportData{Shell: newShell()}
	d.machines(results)
	for i, r := range results {
		d.add(i, r)
	}
	d.beside(results)
	d.Raw = rawResults(results)
	return page.ExecuteTemplate(w, "report.html", d)
}

type reportData struct {
	Shell   shell
	Title   string
	Inputs  []inputLine
	Letters []string     // of the machines
	Facts   []factLine   // of the machines
	Other   bool         // there are several machines
	Bench   []benchPart  // by file
	Loads   []loadPart   // by file
	Grids   []gridPart   // by file
	Cases   []casePart   // diagnoses
	Beside  []besidePart // comparisons
	Lines   *loadsBeside
	Raw     template.JS
}

type inputLine struct {
	ID, Name, Kind, About, Started, Command, Version, Machine, State string
}

type factLine struct {
	Name   string
	Values []string
	Differ bool
}

// machines sorts the results by machine: a letter for each.
func (d *reportData) machines(results []*Result) {
	var list []machine.Machine
	for _, r := range results {
		m := r.Machine()
		known := -1
		for i, other := range list {
			if len(machine.Differences(other, m)) == 0 && len(other.Facts()) >= len(m.Facts()) {
				known = i
				break
			}
		}
		if known < 0 {
			known = len(list)
			list = append(list, m)
		}
		d.Letters = append(d.Letters, letter(known))
	}
	byName := map[string]int{}
	for i, m := range list {
		for _, f := range m.Facts() {
			at, ok := byName[f.Name]
			if !ok {
				at = len(d.Facts)
				byName[f.Name] = at
				d.Facts = append(d.Facts, factLine{Name: f.Name, Values: make([]string, len(list))})
			}
			d.Facts[at].Values[i] = f.Value
		}
	}
	for i := range d.Facts {
		f := &d.Facts[i]
		for j, v := range f.Values {
			if v == "" {
				f.Values[j] = "–"
			} else if f.Values[0] != "–" && v != f.Values[0] {
				f.Differ = true
			}
		}
	}
	d.Other = len(list) > 1
	letters := d.Letters
	d.Letters = nil
	for i := range list {
		d.Letters = append(d.Letters, letter(i))
	}
	for i, r := range results {
		o := r.origin()
		line := inputLine{
			ID: fmt.Sprintf("r%d", i+1), Name: r.Name, Kind: r.Kind, Command: strings.Join(o.command, " "), Version: o.version, Machine: letters[i],
		}
		if !o.started.IsZero() {
			line.Started = o.started.Format(dateFormat)
		}
		if o.interrupted {
			line.State = "interrupted"
		}
		d.Inputs = append(d.Inputs, line)
	}
}

func letter(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return fmt.Sprint(i + 1)
}

// add makes the part of the page that a result gets.
func (d *reportData) add(i int, r *Result) {
	in := &d.Inputs[i]
	switch {
	case r.Bench != nil:
		p := benchPart{In: in, Data: newPageData(r.Bench, in.ID, "")}
		in.About = fmt.Sprintf("%s, %s", units.Plural(len(r.Bench.Scenarios), "scenario"), r.Bench.Mode)
		d.Bench = append(d.Bench, p)
	case r.Load != nil:
		in.About = loadTitle(&r.Load.Plan)
		if !r.Load.Valid {
			in.State = strings.TrimPrefix(in.State+", INVALID", ", ")
		}
		d.Loads = append(d.Loads, newLoadPart(in, r.Load))
	case r.Matrix != nil:
		in.About = r.Matrix.Title
		if in.About == "" {
			in.About = r.Matrix.Name
		}
		d.Grids = append(d.Grids, newGridPart(in, r.Matrix))
	default:
		in.About = r.Diagnosis.Evidence.Workload
		d.Cases = append(d.Cases, newCasePart(in, r.Diagnosis))
	}
	if len(d.Inputs) == 1 {
		d.Title = in.Kind + ": " + in.About
	} else {
		d.Title = units.Plural(len(d.Inputs), "result")
	}
}

type benchPart struct {
	In   *inputLine
	Data pageData
}

// A besidePart is two results of the same kind.
type besidePart struct {
	ID         string
	Comparison *Comparison
	Why        string // they could not be compared
	Old, New   string
	Changes    []Change // that are shown
	Hidden     int
}

// mostBeside is how many rows of a comparison a page shows.
const mostBeside = 2_000

// beside sets the first of each kind against the others.
func (d *reportData) beside(results []*Result) {
	firsts := map[string]*Result{}
	var loads []*load.Result
	var names []string
	for _, r := range results {
		if r.Load != nil {
			loads, names = append(loads, r.Load), append(names, r.Name)
		}
		// An invalid load is compared with nothing, so that it is not the first.
		old, seen := firsts[r.Kind]
		if seen && old.Load != nil && !old.Load.Valid {
			seen = false
		}
		if !seen {
			firsts[r.Kind] = r
			continue
		}
		if r.Kind == KindDiagnosis {
			continue
		}
		p := besidePart{ID: fmt.Sprintf("beside%d", len(d.Beside)+1), Old: old.Name, New: r.Name}
		c, err := Compare(old, r, Options{Force: true})
		if err != nil {
			p.Why = strings.TrimPrefix(err.Error(), "report: ")
		} else {
			p.Comparison = c
			for i := range c.Changes {
				if c.quiet(&c.Changes[i]) || len(p.Changes) >= mostBeside {
					p.Hidden++
					continue
				}
				p.Changes = append(p.Changes, c.Changes[i])
			}
		}
		d.Beside = append(d.Beside, p)
	}
	if len(loads) > 1 {
		d.Lines = newLoadsBeside(loads, names)
	}
}

// rawResults is a list of all results as they were read, for programs that
// find the page and not the files.
func rawResults(results []*Result) template.JS {
	type one struct {
		Name   string          `json:"name"`
		Result json.RawMessage `json:"result"`
	}
	var list []one
	size := 0
	for _, r := range results {
		if size += len(r.raw); size > mostRaw {
			return ""
		}
		list = append(list, one{r.Name, r.raw})
	}
	var b bytes.Buffer
	// Encode compacts what is raw, and escapes <, > and & in it too.
	if err := json.NewEncoder(&b).Encode(list); err != nil {
		return ""
	}
	return template.JS(b.Bytes())
}
