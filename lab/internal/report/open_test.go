package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

func TestEveryKindIsOpened(t *testing.T) {
	for _, r := range everything(t) {
		set := 0
		for _, is := range []bool{r.Bench != nil, r.Load != nil, r.Matrix != nil, r.Diagnosis != nil, r.Pair != nil, r.Search != nil} {
			if is {
				set++
			}
		}
		if set != 1 || r.Origin().Machine.CPU != "Test CPU @ 3 GHz" || r.Name == "" {
			t.Errorf("%s: kind %s, %d of its parts are set, machine %+v", r.Name, r.Kind, set, r.Origin().Machine)
		}
	}
	path := filepath.Join(t.TempDir(), "x.json")
	if err := os.WriteFile(path, written(t, loadFixture(1, 1, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := Open(path); err != nil || r.Name != "x.json" || r.Load == nil {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := Open(path + ".not"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := Read(iotest.ErrReader(errFull), "x"); !errors.Is(err, errFull) {
		t.Errorf("a reader that fails: %v", err)
	}
	if _, err := Read(iotest.OneByteReader(bytes.NewReader(written(t, fixture()))), "x"); err != nil {
		t.Errorf("byte by byte: %v", err)
	}
}

// changed is a fixture's JSON with one value replaced; the path names keys and
// indices.
func changed(t *testing.T, result any, value any, path ...any) []byte {
	t.Helper()
	var all any
	if err := json.Unmarshal(written(t, result), &all); err != nil {
		t.Fatal(err)
	}
	at := all
	for i, step := range path {
		last := i == len(path)-1
		switch s := step.(type) {
		case string:
			m := at.(map[string]any)
			if last {
				m[s] = value
			}
			at = m[s]
		case int:
			list := at.([]any)
			if last {
				list[s] = value
			}
			at = list[s]
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestFilesThatContradictThemselvesAreRefused(t *testing.T) {
	load, bench := loadFixture(1, 1, 1), fixture()
	for name, text := range map[string][]byte{
		"nothing":                 nil,
		"no JSON":                 []byte("<html>"),
		"a list":                  []byte("[1]"),
		"another kind":            []byte(`{"kind": "laundry", "schema": 1}`),
		"a kind of another type":  []byte(`{"kind": 7}`),
		"an empty kind":           []byte(`{"kind": "", "schema": 1}`),
		"no schema":               []byte(`{"kind": "load"}`),
		"not a number":            []byte(`{"kind": "load", "schema": 2, "iops": NaN}`),
		"a number beyond numbers": []byte(`{"kind": "load", "schema": 2, "iops": 1e999}`),
		"more behind it":          []byte(`{"kind": "load", "schema": 2} {}`),
		"nested beyond sense":     []byte(strings.Repeat(`{"kind":`, 20_000)),
		"a later load":            changed(t, load, 3, "schema"),
		"a figure as text":        changed(t, load, "fast", "iops"),
		"a nameless scenario":     changed(t, bench, "", "scenarios", 0, "name"),
		"no baseline":             changed(t, bench, "gone", "scenarios", 0, "baseline"),
	} {
		if r, err := Read(bytes.NewReader(text), "x"); !errors.Is(err, ErrSchema) {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
}

// An invalid run has no latency, also when the file has one.
func TestAnInvalidLoadHasNoLatency(t *testing.T) {
	invalid := invalidLoad()
	invalid.Calibration = nil // its percentiles are the timer's
	r := opened(t, "x", invalid)
	if r.Load.Latency != nil || r.Load.Service != nil || r.Load.Due != nil {
		t.Errorf("%+v", r.Load)
	}
	page := reported(t, r)
	for _, want := range []string{"INVALID", "12 % of the sends were late", "out of CPU", "throughput"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	body, _, _ := strings.Cut(page, `<script type="application/json"`)
	for _, not := range []string{"P99", "P50", "jitter", "percentile", "latency, from"} {
		if strings.Contains(body, not) {
			t.Errorf("the page of an invalid run says %q", not)
		}
	}
	var b strings.Builder
	if err := WriteBenchstat(&b, []*Result{r}); err != nil || strings.Contains(b.String(), "Benchmark") || !strings.Contains(b.String(), "# load: INVALID: 12 %") {
		t.Errorf("%v: %s", err, b.String())
	}
}

// Missing fields are no reason to fail: older and newer programs write other
// ones.
func TestBareResultsAreRendered(t *testing.T) {
	for _, text := range []string{
		`{"schema": 1}`, `{"kind": "load", "schema": 2}`, `{"kind": "load", "schema": 2, "valid": true}`,
		`{"kind": "diagnosis", "schema": 3}`, `{"kind": "load", "schema": 2, "valid": true, "latency": {"count": 3}, "service": {}, "target": {}, "calibration": {}}`,
		`{"kind": "matrix", "schema": 2, "repeats": 1, "cell_ns": 1000000000, "layers": ["a"], "rows": {"values": [1], "labels": ["1"]}, "columns": {"values": [1], "labels": ["1"]}, "figures": [{"name": "x"}], "noise_of": "x", "cells": [{"runs": [{"valid": true}]}]}`,
		`{"kind": "diagnosis", "schema": 3, "evidence": {"cpu": {"stacks": [{"value": 1}]}, "waits": {"places": [{}]}, "calls": {"by_name": [{}]}, "perf": {}, "sharing": {}}}`,
	} {
		r, err := Read(strings.NewReader(text), "bare.json")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		wellFormed(t, reported(t, r))
		if err := WriteBenchstat(io.Discard, []*Result{r}); err != nil {
			t.Error(err)
		}
		if _, err := Compare(r, r, Options{}); err != nil && !errors.Is(err, ErrNotComparable) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
