package models

import (
	"strings"
	"testing"
)

func TestErrorsNameTheLine(t *testing.T) {
	for _, c := range []struct {
		text string
		at   string
	}{
		{"Reader.Next nothing", "f:1: no package line"},
		{"package a\n\n# comment\nReader.Next lends", "f:4: Reader.Next"},
		{"package a b", "f:1: want: package PATH"},
		{"package a\ntype T shared", "f:2: want: type NAME"},
		{"package a\ntype T", "f:2: want: type NAME"},
		{"package a\nA.B.C nothing", "f:2: \"A.B.C\" is neither"},
		{"package a\nF result x retained", "f:2: F: \"result x retained\""},
		{"package a\nF result 0 borrowed recv", "f:2"},
		{"package a\nF result 0 borrowed from arg", "f:2"},
		{"package a\nF result 0 retained from recv", "f:2"},
		{"package a\nF arg -1 ends", "f:2"},
		{"package a\nF recv ends,", "f:2"},
		{"package a\nF", "f:2"},
		{"package a\nF recv ends # fine\nG recv stops\nH arg 0 eats", "f:4"},
	} {
		err := empty().Parse("f", strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.at) {
			t.Errorf("%q: %v, want %q", c.text, err, c.at)
		}
	}
}

func TestAllErrorsAreReturned(t *testing.T) {
	err := empty().Parse("f", strings.NewReader("package a\nF recv stops\nG nothing\nH recv stops\n"))
	if err == nil || !strings.Contains(err.Error(), "f:2") || !strings.Contains(err.Error(), "f:4") || strings.Contains(err.Error(), "f:3") {
		t.Errorf("%v, want lines 2 and 4", err)
	}
}

func TestLaterFilesReplaceFunctions(t *testing.T) {
	table := Default()
	before := table.funcs["bufio.Reader.Discard"]
	if err := table.Parse("mine", strings.NewReader("package bufio\nReader.Discard  recv ends\n")); err != nil {
		t.Fatal(err)
	}
	if after := table.funcs["bufio.Reader.Discard"]; len(before) != 0 || len(after) != 1 {
		t.Errorf("before %v, after %v", before, after)
	}
}

// What String writes of an effect, Parse reads.
func TestClausesRoundTrip(t *testing.T) {
	for key, list := range Default().funcs {
		for _, e := range list {
			text := strings.Replace(e.String(), "borrowed recv", "borrowed from recv", 1)
			again, err := parseClause(strings.Fields(text))
			if err != nil || again != e {
				t.Errorf("%s: %q is read as %v, %v", key, text, again, err)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("package a\nR.Next result 0 borrowed from recv, recv ends\ntype T owned\n")
	f.Add("package a\nF arg 1 kept # comment\n")
	f.Fuzz(func(t *testing.T, text string) {
		table := empty()
		if err := table.Parse("f", strings.NewReader(text)); err != nil {
			return
		}
		for key, list := range table.funcs {
			if !strings.Contains(key, ".") || list == nil {
				t.Errorf("%q gives %q: %v", text, key, list)
			}
		}
	})
}

func empty() *Table {
	t := Default()
	clear(t.packages)
	clear(t.types)
	clear(t.funcs)
	return t
}
