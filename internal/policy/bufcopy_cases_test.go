//go:build !race

package policy

import (
	"go/ast"
	"go/parser"
	"strconv"
	"strings"
	"testing"
)

// bufStandIn is as much of package mem as the cases need.
const bufStandIn = `package mem

type Buf struct{ b *int }

func (b Buf) Retain() Buf { return Buf{b.b} }
`

// Each line that the rule must find ends in // want; all others are in order.
const bufCopyCases = `package p

import "` + module + `/mem"

type node struct {
	buf  mem.Buf
	next *node
}

type queue struct {
	list  []mem.Buf
	nodes [2]node
	byKey map[int]mem.Buf
	refs  []*mem.Buf
}

type alias = mem.Buf

type Buf struct{ n int } // another package's Buf is no concern

var global mem.Buf

func take(b mem.Buf) {}

func assignments(b mem.Buf, p *mem.Buf, q *queue, n *node, l alias, own Buf) {
	c := b              // want
	var d = b           // want
	var e mem.Buf = (b) // want
	c = *p              // want
	*p = d              // want
	q.list[0] = e       // want
	c = q.list[1]       // want
	d, e = c, b.Retain() // want
	n.buf = l           // want
	m := *n             // want
	m = q.nodes[0]      // want
	both := q.nodes     // want
	f, ok := q.byKey[1]
	q.byKey[2] = f      // want
	c = global          // want
	_, _, _, _, _ = both, f, ok, e, m
	_ = b
	var _ = b
	other := own
	_ = other
}

func newValues(b mem.Buf, q *queue, in chan mem.Buf, any interface{}) mem.Buf {
	c := b.Retain()
	c = mem.Buf{}
	d := <-in
	e, ok := any.(mem.Buf)
	at := &q.list[0]
	view := q.list[1:]
	ref := q.refs[0]
	ptr := &node{buf: b}
	next := ptr.next
	retain := b.Retain
	take(b)
	q.list = append(q.list, b)
	in <- c
	_, _, _, _, _, _, _, _ = d, e, ok, at, view, ref, next, retain
	return b
}

func ranges(q *queue, in chan mem.Buf, seq func(func(int, mem.Buf) bool), array *[3]mem.Buf) {
	for _, b := range q.list { // want
		take(b)
	}
	for _, n := range q.nodes { // want
		take(n.buf)
	}
	for _, b := range array { // want
		take(b)
	}
	for _, b := range q.byKey {
		take(b)
	}
	var b mem.Buf
	for _, b = range q.list { // want
		take(b)
	}
	for i := range q.list {
		take(q.list[i])
	}
	for i, _ := range q.list {
		take(q.list[i])
	}
	for _, p := range q.refs {
		take(*p)
	}
	for b := range in {
		take(b)
	}
	for _, b := range seq {
		take(b)
	}
}

func moves(b mem.Buf, q *queue) {
	c := b //sluice:moved
	q.list[0] = c //sluice:moved the parameter is not used again
	//sluice:moved
	d := c // want
	e := d //sluice:movedon // want
	for _, b := range q.list { //sluice:moved the list is emptied below
		take(b)
	}
	q.list = nil
	_ = e
}
`

func TestBufCopyRuleBites(t *testing.T) {
	l := newLoader(t, platform{goos: "linux"})
	check := func(imp, text string) *checked {
		file, err := parser.ParseFile(l.fset, imp+".go", text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		c := l.check(imp, []*ast.File{file})
		for _, err := range c.errs {
			t.Fatal(err)
		}
		return c
	}
	mem := check(module+"/mem", bufStandIn)
	if got := bufCopies(l.fset, mem); len(got) != 0 {
		t.Errorf("faults in the stand-in: %q", got)
	}
	l.pkgs["mem"] = mem

	found := map[int]bool{}
	for _, f := range bufCopies(l.fset, check("p", bufCopyCases)) {
		line, err := strconv.Atoi(strings.Split(f, ":")[1])
		if err != nil {
			t.Fatal(err)
		}
		found[line] = true
	}
	n := 0
	for text := range strings.Lines(bufCopyCases) {
		n++
		want := strings.HasSuffix(text, "// want\n")
		if found[n] != want {
			t.Errorf("line %d: found %v, want %v: %s", n, found[n], want, strings.TrimSpace(text))
		}
	}
}
