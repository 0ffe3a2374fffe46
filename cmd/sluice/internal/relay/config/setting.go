package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Setting is one field of a Config, as flags, files and the environment set it.
// It has the methods of a flag's value: Set, String, Type.
type Setting struct {
	Name    string
	Group   string   // filled in by Settings
	Default string   // as Set takes it
	Usage   string   // with the kind of value in back quotes
	Live    bool     // a reload applies it; otherwise it takes a restart
	Scoped  bool     // a section may have it, for some streams
	Secret  bool     // it comes from the environment only, and is never shown
	Choices []string // when there are any, no other value is valid
	value   value
	fits    func() error // nil when every value of its kind is valid
}

// Env is the environment variable of the setting.
func (s Setting) Env() string {
	return "SLUICE_" + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// Set parses a value. A value outside the setting's limits is an error, and
// changes nothing.
func (s Setting) Set(text string) error {
	before := s.value.String()
	err := s.value.Set(text)
	if err != nil && !errors.Is(err, errBeyond) {
		return err
	}
	if wrong := s.check(); wrong != nil {
		var o *outside
		if errors.As(wrong, &o) && err != nil {
			o.value = fmt.Sprintf("%.60s", text)
		}
		err = wrong
	} else if err != nil {
		err = fmt.Errorf("%.60s is more than %d", text, int64(math.MaxInt64))
	}
	if err != nil {
		if back := s.value.Set(before); back != nil {
			return back
		}
	}
	return err
}

// String returns the value as Set takes it.
func (s Setting) String() string {
	if s.value == nil {
		return ""
	}
	return s.value.String()
}

// Type returns the kind of value.
func (s Setting) Type() string { return s.value.Type() }

func (s Setting) check() error {
	if s.Choices != nil && !slices.Contains(s.Choices, s.String()) {
		return fmt.Errorf("%q is not one of %s", s, strings.Join(s.Choices, ", "))
	}
	if s.fits == nil {
		return nil
	}
	return s.fits()
}

func (s Setting) list() bool { return s.Type() == "list" }
