package abuse

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// A Result is what a server did about a case.
type Result struct {
	Case
	Seen   string // what was seen: "closed", "refused", "served", "answered", "no answer and not closed"
	Note   string // what the server said, or why the case could not begin
	Passed bool
	Took   time.Duration
}

// A Report is what came out of a Run.
type Report struct {
	Target string
	Began  time.Time
	Took   time.Duration
	// Results are in the order in which the cases ended.
	Results []Result
	// Problems are what went wrong around the cases: the healthy stream broke, or
	// memory or descriptors did not come back.
	Problems []string
	// NotLookedAt is what could not be judged, and why.
	NotLookedAt []string
	// Before and After are nil when the process was not looked at.
	Before, After *Resources
}

// Failed returns the results that are not what was expected, by number.
func (r *Report) Failed() []Result {
	failed := slices.DeleteFunc(slices.Clone(r.Results), func(x Result) bool { return x.Passed })
	slices.SortFunc(failed, func(a, b Result) int { return strings.Compare(a.ID, b.ID) })
	return failed
}

// Passed reports whether the server did everything as expected.
func (r *Report) Passed() bool { return len(r.Failed()) == 0 && len(r.Problems) == 0 }

// WriteText writes what deviates, and a summary, for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	failed := r.Failed()
	for _, x := range failed {
		fmt.Fprintf(&b, "%s  %s\n", x.ID, x.Title)
		fmt.Fprintf(&b, "    want: %s   seen: %s after %v", x.Expect, x.Seen, x.Took.Round(time.Millisecond))
		if x.Clause != "" {
			fmt.Fprintf(&b, "   (%s)", x.Clause)
		}
		if x.Note != "" {
			fmt.Fprintf(&b, "\n    %s", x.Note)
		}
		b.WriteByte('\n')
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "problem: %s\n", p)
	}
	for _, p := range r.NotLookedAt {
		fmt.Fprintf(&b, "not looked at: %s\n", p)
	}
	if r.After != nil {
		fmt.Fprintf(&b, "the server's process: %d descriptors before, %d after; %d MiB resident before, %d after\n",
			r.Before.Descriptors, r.After.Descriptors, r.Before.Resident>>20, r.After.Resident>>20)
	}
	fmt.Fprintf(&b, "%s: %d of %d cases as expected, %d problems around them, in %v\n",
		r.Target, len(r.Results)-len(failed), len(r.Results), len(r.Problems), r.Took.Round(100*time.Millisecond))
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteJSON writes the whole report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	type result struct {
		ID       string      `json:"id"`
		Title    string      `json:"title"`
		Clause   string      `json:"clause,omitempty"`
		Expected Expectation `json:"expected"`
		Seen     string      `json:"seen"`
		Passed   bool        `json:"passed"`
		Note     string      `json:"note,omitempty"`
		Seconds  float64     `json:"seconds"`
	}
	out := struct {
		Target      string     `json:"target"`
		Began       time.Time  `json:"began"`
		Seconds     float64    `json:"seconds"`
		Passed      bool       `json:"passed"`
		Results     []result   `json:"results"`
		Problems    []string   `json:"problems"`
		NotLookedAt []string   `json:"not_looked_at"`
		Before      *Resources `json:"before,omitempty"`
		After       *Resources `json:"after,omitempty"`
	}{r.Target, r.Began, r.Took.Seconds(), r.Passed(), []result{}, append([]string{}, r.Problems...), append([]string{}, r.NotLookedAt...), r.Before, r.After}
	for _, x := range r.sorted() {
		out.Results = append(out.Results, result{x.ID, x.Title, x.Clause, x.Expect, x.Seen, x.Passed, x.Note, x.Took.Seconds()})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func (r *Report) sorted() []Result {
	all := slices.Clone(r.Results)
	slices.SortFunc(all, func(a, b Result) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// WriteJUnit writes the report in the form of JUnit, which build servers read. What went
// wrong around the cases is a case of its own.
func (r *Report) WriteJUnit(w io.Writer) error {
	type failure struct {
		Message string `xml:"message,attr"`
	}
	type testcase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Seconds float64  `xml:"time,attr"`
		Failure *failure `xml:"failure"`
	}
	type suite struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Seconds  float64    `xml:"time,attr"`
		Cases    []testcase `xml:"testcase"`
	}
	s := suite{Name: "abuse " + r.Target, Seconds: r.Took.Seconds()}
	add := func(class, name string, took time.Duration, message string) {
		c := testcase{Class: class, Name: name, Seconds: took.Seconds()}
		if message != "" {
			c.Failure = &failure{clean(message)}
			s.Failures++
		}
		s.Cases = append(s.Cases, c)
	}
	for _, x := range r.sorted() {
		message := ""
		if !x.Passed {
			message = fmt.Sprintf("want %s, seen: %s. %s", x.Expect, x.Seen, x.Note)
		}
		add(x.Clause, x.ID+" "+clean(x.Title), x.Took, message)
	}
	add("around the cases", "a healthy stream, memory and descriptors", r.Took, strings.Join(r.Problems, "; "))
	s.Tests = len(s.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	return e.Encode(s)
}

// clean takes out what XML cannot hold.
func clean(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "?"))
}

// Resources are what a process holds.
type Resources struct {
	Descriptors int   `json:"descriptors"`
	Resident    int64 `json:"resident_bytes"`
}
