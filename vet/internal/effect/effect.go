// Package effect describes what a call does with the memory of its operands and results.
// Models, written by people, and facts, computed from code, are both lists of effects.
package effect

import "fmt"

// Kind is one thing that a call can do.
type Kind uint8

const (
	// Borrowed: the result is memory of the operand, until a call that Ends it.
	Borrowed Kind = iota + 1
	// Views: the result is a part of the operand and lives as long.
	Views
	// Is: the result is another name of the operand.
	Is
	// Retained: the caller owns the result and must release it.
	Retained
	// Pooled: like Retained, but it may be left to the garbage collector.
	Pooled
	// Ends what the operand has lent.
	Ends
	// Released: the reference that the operand stands for ends.
	Released
	// Transferred: the operand is not the caller's after the call.
	Transferred
	// Kept: the operand, borrowed, is stored for longer than the call.
	Kept
	// Lends: the operand is a function whose parameters are borrowed until it returns.
	Lends
	// Asked: the operand may have ended; the result says whether it has.
	Asked
	// Passed: the parameter of a callback, which a field takes, is borrowed until it
	// returns.
	Passed
	// Unknown: the operand may or may not be the caller's after the call.
	Unknown
)

var names = map[Kind]string{
	Borrowed: "borrowed", Views: "views", Is: "is", Retained: "retained", Pooled: "pooled", Ends: "ends",
	Released: "released", Transferred: "transferred", Kept: "kept", Lends: "lends", Asked: "asked", Passed: "passed", Unknown: "unknown",
}

func (k Kind) String() string { return names[k] }

// Recv is the operand that is the receiver; arguments count from 0.
const Recv = -1

// FreeVars is the operand that stands for a closure's first captured variable.
const FreeVars = 1000

// None is the operand, or the result, of an effect that has none.
const None = -2

// An Effect of one call. Path leads from the operand to the memory that is
// meant, as in ".conn*.r*"; models have none.
type Effect struct {
	Kind    Kind
	Operand int
	Path    string
	Result  int
	// Where is the place in the callee's source that does it, for messages.
	Where string
}

func (e Effect) String() string {
	operand := "recv"
	switch {
	case e.Operand == None:
		operand = ""
	case e.Operand >= FreeVars:
		operand = fmt.Sprintf("captured %d", e.Operand-FreeVars)
	case e.Operand >= 0:
		operand = fmt.Sprintf("arg %d", e.Operand)
	}
	operand += e.Path
	switch e.Kind {
	case Borrowed:
		return fmt.Sprintf("result %d borrowed from %s", e.Result, operand)
	case Views, Is:
		return fmt.Sprintf("result %d %v %s", e.Result, e.Kind, operand)
	case Retained, Pooled:
		return fmt.Sprintf("result %d %v", e.Result, e.Kind)
	}
	return fmt.Sprintf("%s %v", operand, e.Kind)
}
