package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxConfig is the longest file that is read, in bytes.
const maxConfig = 1 << 20

// syntaxAt are line, column and text of an error of the library.
var syntaxAt = regexp.MustCompile(`^\[(\d+):(\d+)\] (.*)$`)

// ReadFile reads settings from a YAML file: a mapping with the names that
// Settings returns. Unknown keys and invalid values are errors with line and column:
// all of them are returned, joined.
func (c *Config) ReadFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return err
	}
	if len(text) > maxConfig {
		return fmt.Errorf("%s: longer than %d bytes", name, maxConfig)
	}
	return c.readYAML(name, text)
}

func (c *Config) readYAML(name string, text []byte) error {
	file, err := parser.ParseBytes(bytes.TrimPrefix(text, []byte("\ufeff")), 0)
	if err != nil {
		// The library's error has several lines; the first has the position.
		first, _, _ := strings.Cut(err.Error(), "\n")
		if at := syntaxAt.FindStringSubmatch(first); at != nil {
			return fmt.Errorf("%s:%s:%s: %s", name, at[1], at[2], at[3])
		}
		return fmt.Errorf("%s: %s", name, first)
	}
	settings := c.byName()
	var faults []error
	for i, doc := range file.Docs {
		if i > 0 && doc.Body != nil {
			return fmt.Errorf("%s: a second document", position(name, doc.Body))
		}
		pairs, ok := mapping(doc.Body)
		if !ok {
			return fmt.Errorf("%s: not a list of settings, such as http: \":8080\"", position(name, doc.Body))
		}
		for _, pair := range pairs {
			key := pair.Key.GetToken().Value
			where := position(name, pair.Key)
			if key == sectionsKey {
				faults = append(faults, c.readSections(name, where, pair.Value)...)
				continue
			}
			setting, ok := settings[key]
			if !ok {
				faults = append(faults, fmt.Errorf("%s: unknown key %q%s", where, key, c.Meant(key)))
				continue
			}
			if err := setYAML(setting, pair.Value); err != nil {
				faults = append(faults, fmt.Errorf("%s: %s: %w", where, key, err))
				continue
			}
			c.SetBy(key, where)
		}
	}
	return errors.Join(faults...)
}

// mapping returns the pairs of a mapping, none of nothing and of comments.
func mapping(n ast.Node) (pairs []*ast.MappingValueNode, ok bool) {
	switch n := n.(type) {
	case nil, *ast.CommentGroupNode:
		return nil, true
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// readSections reads the settings for some streams: a mapping of patterns to mappings
// of settings. It returns everything that is wrong.
func (c *Config) readSections(name, where string, n ast.Node) (faults []error) {
	sections, ok := mapping(n)
	if !ok {
		return []error{fmt.Errorf("%s: %s: not patterns with settings below them, such as live/*: {gop: false}", where, sectionsKey)}
	}
	for _, section := range sections {
		at := position(name, section.Key)
		text, err := scalar(section.Key)
		pairs, ok := mapping(section.Value)
		if err != nil || !ok || section.Value == nil {
			faults = append(faults, fmt.Errorf("%s: not a pattern with settings below it, such as live/*: {gop: false}", at))
			continue
		}
		var values []SectionValue
		for _, pair := range pairs {
			v := SectionValue{Name: pair.Key.GetToken().Value, Place: position(name, pair.Key)}
			_, v.list = pair.Value.(*ast.SequenceNode)
			if v.Text, err = textOf(pair.Value); err != nil {
				faults = append(faults, fmt.Errorf("%s: %s: %w", v.Place, v.Name, err))
				continue
			}
			values = append(values, v)
		}
		if err := c.addSection(text, at, values); err != nil {
			faults = append(faults, err)
		}
	}
	if faults != nil {
		c.sections = nil // as with other settings, what is wrong changes nothing
	}
	return faults
}

// position is where a node stands: FILE:LINE:COLUMN.
func position(name string, n ast.Node) string {
	at := n.GetToken().Position
	return fmt.Sprintf("%s:%d:%d", name, at.Line, at.Column)
}

// setYAML gives a setting the value of a node: a scalar, or for lists a
// sequence of scalars.
func setYAML(s Setting, n ast.Node) error {
	if _, ok := n.(*ast.SequenceNode); ok && !s.list() {
		return errors.New("takes one value, not a list")
	}
	text, err := textOf(n)
	if err != nil {
		return err
	}
	return s.Set(text)
}

// textOf returns the text of a scalar, or those of a sequence with commas between them.
func textOf(n ast.Node) (string, error) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		return scalar(n)
	}
	items := make([]string, 0, len(seq.Values))
	for _, v := range seq.Values {
		text, err := scalar(v)
		if err != nil {
			return "", err
		}
		if strings.Contains(text, ",") {
			return "", fmt.Errorf("%q has a comma in it", text)
		}
		items = append(items, text)
	}
	return strings.Join(items, ","), nil
}

func scalar(n ast.Node) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode: // | and >, for long ones
		return strings.TrimSpace(n.Value.Value), nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil
	case *ast.NullNode:
		return "", errors.New(`has no value; "" is an empty one`)
	}
	return "", fmt.Errorf("takes a plain value, not %s", strings.ToLower(n.Type().String()))
}
