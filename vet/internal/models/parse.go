package models

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/vet/internal/effect"
)

// Parse adds the models in r to the table. name is for errors, which say file,
// line and what is wrong; all of them are returned together. A function that
// the table has already is replaced, so that a user's file can correct ours.
func (t *Table) Parse(name string, r io.Reader) error {
	var errs []error
	lines := bufio.NewScanner(r)
	pkg := ""
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		at := fmt.Sprintf("%s:%d", name, n)
		var err error
		switch {
		case fields[0] == "package":
			pkg, err = t.parsePackage(fields[1:])
		case pkg == "":
			err = errors.New("no package line before this one")
		case fields[0] == "type":
			err = t.parseType(at, pkg, fields[1:])
		default:
			err = t.parseFunction(at, pkg, fields[0], strings.Join(fields[1:], " "))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", at, err))
		}
	}
	if err := lines.Err(); err != nil {
		errs = append(errs, fmt.Errorf("%s: %w", name, err))
	}
	return errors.Join(errs...)
}

func (t *Table) parsePackage(fields []string) (string, error) {
	if len(fields) != 1 {
		return "", errors.New("want: package PATH")
	}
	t.packages[fields[0]] = true
	return fields[0], nil
}

func (t *Table) parseType(at, pkg string, fields []string) error {
	if len(fields) == 2 {
		for kind, word := range typeWords {
			if word == fields[1] {
				t.types[pkg+"."+fields[0]] = TypeKind(kind)
				t.lines = append(t.lines, line{at: at, pkg: pkg, name: fields[0], kind: TypeKind(kind)})
				return nil
			}
		}
	}
	return errors.New("want: type NAME owned|single|call")
}

func (t *Table) parseFunction(at, pkg, name, clauses string) error {
	key := pkg + "." + name
	if strings.Count(name, ".") > 1 || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") {
		return fmt.Errorf("%q is neither a function nor Type.Method", name)
	}
	list := []effect.Effect{}
	for clause := range strings.SplitSeq(clauses, ",") {
		words := strings.Fields(clause)
		if len(words) == 1 && words[0] == "nothing" {
			continue
		}
		e, err := parseClause(words)
		if err != nil {
			return fmt.Errorf("%s: %q: %w", name, strings.TrimSpace(clause), err)
		}
		list = append(list, e)
	}
	t.funcs[key] = list
	t.lines = append(t.lines, line{at: at, pkg: pkg, name: name, list: list})
	return nil
}

var errClause = errors.New("want: result N retained|pooled, result N borrowed from OPERAND, result N views|is OPERAND, " +
	"OPERAND ends|released|transferred|kept|lends|asked|passed|unknown, or nothing; OPERAND is recv or arg N")

func parseClause(words []string) (effect.Effect, error) {
	if len(words) > 1 && words[0] == "result" {
		return parseResult(words)
	}
	operand, rest, err := parseOperand(words)
	if err != nil || len(rest) != 1 {
		return effect.Effect{}, errClause
	}
	for _, k := range []effect.Kind{effect.Ends, effect.Released, effect.Transferred, effect.Kept, effect.Lends, effect.Asked, effect.Passed, effect.Unknown} {
		if rest[0] == k.String() {
			return effect.Effect{Kind: k, Operand: operand, Result: effect.None}, nil
		}
	}
	return effect.Effect{}, errClause
}

func parseResult(words []string) (effect.Effect, error) {
	n, err := strconv.Atoi(words[1])
	if err != nil || n < 0 || len(words) < 3 {
		return effect.Effect{}, errClause
	}
	e := effect.Effect{Operand: effect.None, Result: n}
	operand := words[3:]
	switch words[2] {
	case "retained":
		e.Kind = effect.Retained
	case "pooled":
		e.Kind = effect.Pooled
	case "views":
		e.Kind = effect.Views
	case "is":
		e.Kind = effect.Is
	case "borrowed":
		e.Kind = effect.Borrowed
		if len(operand) == 0 || operand[0] != "from" {
			return e, errClause
		}
		operand = operand[1:]
	default:
		return e, errClause
	}
	if e.Kind == effect.Retained || e.Kind == effect.Pooled {
		if len(operand) != 0 {
			return e, errClause
		}
		return e, nil
	}
	var rest []string
	if e.Operand, rest, err = parseOperand(operand); err != nil || len(rest) != 0 {
		return e, errClause
	}
	return e, nil
}

func parseOperand(words []string) (operand int, rest []string, err error) {
	switch {
	case len(words) > 0 && words[0] == "recv":
		return effect.Recv, words[1:], nil
	case len(words) > 1 && words[0] == "arg":
		n, err := strconv.Atoi(words[1])
		if err == nil && n >= 0 && n < 100 {
			return n, words[2:], nil
		}
	}
	return 0, nil, errClause
}
