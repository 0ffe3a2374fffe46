package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// A port is the value of a flag for a port that is connected to.
type port uint16

func (p *port) String() string { return strconv.Itoa(int(*p)) }
func (p *port) Type() string   { return "port" }
func (p *port) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return fmt.Errorf("it is no port, 1 to %d", math.MaxUint16)
	}
	*p = port(n)
	return nil
}

// bounded is a flag's value that says of a wrong one what it has to be, which the packages that
// parse it do not know.
type bounded[T int | time.Duration] struct {
	pflag.Value
	v           *T
	least, most T
}

func (b bounded[T]) Set(text string) error {
	if err := b.Value.Set(text); err == nil && *b.v >= b.least && *b.v <= b.most {
		return nil
	}
	what := "whole number"
	if b.Type() == "duration" {
		what = "time such as 5s"
	}
	return fmt.Errorf("it is no %s within %v to %v", what, b.least, b.most)
}

// bound has a flag of v refuse what is not within these bounds.
func bound[T int | time.Duration](flags *pflag.FlagSet, name string, v *T, least, most T) {
	f := flags.Lookup(name)
	f.Value = bounded[T]{f.Value, v, least, most}
}

// wrongBool says what a flag has to be where package strconv said that its syntax is invalid.
func wrongBool(err error) error {
	var wrong *pflag.InvalidValueError
	var parsed *strconv.NumError
	if !errors.As(err, &wrong) || !errors.As(err, &parsed) || wrong.GetFlag().Value.Type() != "bool" {
		return err
	}
	return fmt.Errorf("invalid argument %.40q for \"--%s\" flag: it is neither true nor false", wrong.GetValue(), wrong.GetFlag().Name)
}
