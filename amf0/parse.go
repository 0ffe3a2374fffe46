package amf0

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Limits bound what Parse makes of its input. A field that is 0 has its
// default.
type Limits struct {
	// Depth is how deep objects and arrays may lie in each other. Default 32.
	Depth int
	// Values is the largest number of values, those inside others counted.
	// Default 65,536: a recording's index of key frames has two for each.
	Values int
	// Bytes is the longest input that is read, in bytes. Default 16 MiB, which
	// no FLV tag and no RTMP message exceeds.
	Bytes int
}

// Defaults of Limits.
const (
	DefaultDepth  = 32
	DefaultValues = 1 << 16
	DefaultBytes  = 16 << 20
)

// Markers of values (section 2.1).
const (
	markNumber      = 0x00
	markBoolean     = 0x01
	markString      = 0x02
	markObject      = 0x03
	markMovieClip   = 0x04
	markNull        = 0x05
	markUndefined   = 0x06
	markReference   = 0x07
	markECMAArray   = 0x08
	markObjectEnd   = 0x09
	markStrictArray = 0x0a
	markDate        = 0x0b
	markLongString  = 0x0c
	markUnsupported = 0x0d
	markRecordSet   = 0x0e
	markXML         = 0x0f
	markTypedObject = 0x10
	markAMF3        = 0x11
)

// Parse reads the value at the front of p, borrowed until it returns, and
// returns it with what follows it, which is a view of p. The limits are the
// defaults. No input is io.EOF, one that ends early io.ErrUnexpectedEOF; with
// any error rest is p.
func Parse(p []byte) (v Value, rest []byte, err error) { return Limits{}.Parse(p) }

// ParseAll reads all values in p, borrowed until it returns: what an RTMP
// command or an FLV script tag is made of. With an error it returns the values
// before it too.
func ParseAll(p []byte) ([]Value, error) { return Limits{}.ParseAll(p) }

// Parse is the function Parse within limits of l.
func (l Limits) Parse(p []byte) (v Value, rest []byte, err error) {
	if len(p) == 0 {
		return nil, p, io.EOF
	}
	d := l.begin(p)
	v, err = d.value(0)
	if err != nil {
		return nil, p, err
	}
	return v, p[d.at:], nil
}

// ParseAll is the function ParseAll within limits of l, which are for all
// values together.
func (l Limits) ParseAll(p []byte) ([]Value, error) {
	d := l.begin(p)
	var all []Value
	for d.at < len(p) {
		v, err := d.value(0)
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

func (l Limits) begin(p []byte) decoder {
	d := decoder{p: p, limits: l}
	set := func(v *int, otherwise int) {
		if *v <= 0 {
			*v = otherwise
		}
	}
	set(&d.limits.Depth, DefaultDepth)
	set(&d.limits.Values, DefaultValues)
	set(&d.limits.Bytes, DefaultBytes)
	return d
}

// A decoder is at a byte of its input.
type decoder struct {
	p      []byte
	at     int
	values int
	limits Limits
	skim   bool // values are read over, and none is made
}

func (d *decoder) fail(err error, what string) error {
	return fmt.Errorf("%w at byte %d: %s", err, d.at, what)
}

// take returns the next n bytes. n is never negative.
func (d *decoder) take(n uint32, what string) ([]byte, error) {
	if uint64(n) > uint64(len(d.p)-d.at) {
		return nil, fmt.Errorf("amf0: at byte %d: %d bytes of %d for %s: %w", d.at, len(d.p)-d.at, n, what, io.ErrUnexpectedEOF)
	}
	// What a value begins with may lie within the limit and the rest beyond.
	if d.at+int(n) > d.limits.Bytes {
		return nil, fmt.Errorf("%w: %d bytes, limit %d", ErrTooLong, d.at+int(n), d.limits.Bytes)
	}
	b := d.p[d.at : d.at+int(n)]
	d.at += int(n)
	return b, nil
}

func (d *decoder) short(what string) (string, error) {
	b, err := d.take(2, what)
	if err != nil {
		return "", err
	}
	return d.text(uint32(binary.BigEndian.Uint16(b)), what)
}

func (d *decoder) long(what string) (string, error) {
	b, err := d.take(4, what)
	if err != nil {
		return "", err
	}
	return d.text(binary.BigEndian.Uint32(b), what)
}

func (d *decoder) text(n uint32, what string) (string, error) {
	b, err := d.take(n, what)
	if d.skim {
		return "", err
	}
	return string(b), err
}

func (d *decoder) number(what string) (float64, error) {
	b, err := d.take(8, what)
	if err != nil || d.skim {
		return 0, err
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b)), nil
}

// value reads one value that lies in depth others.
func (d *decoder) value(depth int) (Value, error) {
	if d.values++; d.values > d.limits.Values {
		return nil, fmt.Errorf("%w at byte %d: limit %d", ErrTooMany, d.at, d.limits.Values)
	}
	mark, err := d.take(1, "a marker")
	if err != nil {
		return nil, err
	}
	switch mark[0] {
	case markNumber:
		return boxed(d.number("a number"))
	case markBoolean:
		b, err := d.take(1, "a boolean")
		if err != nil {
			return nil, err
		}
		return b[0] != 0, nil
	case markString:
		return boxed(d.short("a string"))
	case markLongString:
		return boxed(d.long("a long string"))
	case markXML:
		s, err := d.long("a document")
		return boxed(XML(s), err)
	case markNull:
		return nil, nil
	case markUndefined:
		return Undefined{}, nil
	case markUnsupported:
		return Unsupported{}, nil
	case markReference:
		b, err := d.take(2, "a reference")
		if err != nil {
			return nil, err
		}
		return Reference(binary.BigEndian.Uint16(b)), nil
	case markDate:
		return boxed(d.date())
	case markObject, markECMAArray, markStrictArray, markTypedObject:
		if depth == d.limits.Depth {
			return nil, fmt.Errorf("%w at byte %d: limit %d", ErrTooDeep, d.at-1, d.limits.Depth)
		}
		return d.compound(mark[0], depth+1)
	case markObjectEnd:
		d.at--
		return nil, d.fail(ErrSyntax, "an object's end outside objects")
	case markMovieClip, markRecordSet, markAMF3:
		d.at--
		return nil, d.fail(ErrSyntax, fmt.Sprintf("marker %#02x is not to be sent", mark[0]))
	}
	d.at--
	return nil, d.fail(ErrSyntax, fmt.Sprintf("no marker %#02x", mark[0]))
}

// boxed makes a Value of a result, nil when it failed.
func boxed[T any](v T, err error) (Value, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (d *decoder) date() (Date, error) {
	ms, err := d.number("a date")
	if err != nil {
		return Date{}, err
	}
	b, err := d.take(2, "a date's zone")
	if err != nil {
		return Date{}, err
	}
	return Date{Milliseconds: ms, Zone: int16(binary.BigEndian.Uint16(b))}, nil
}

func (d *decoder) compound(mark byte, depth int) (Value, error) {
	switch mark {
	case markStrictArray:
		return boxed(d.array(depth))
	case markECMAArray:
		if _, err := d.take(4, "an array's count"); err != nil {
			return nil, err
		}
		properties, err := d.properties(depth)
		return boxed(ECMAArray(properties), err)
	case markTypedObject:
		class, err := d.short("a class name")
		if err != nil {
			return nil, err
		}
		properties, err := d.properties(depth)
		return boxed(TypedObject{Class: class, Properties: properties}, err)
	}
	properties, err := d.properties(depth)
	return boxed(Object(properties), err)
}

// array reads a count and as many values: the slice grows with the values that
// are there, not with the count.
func (d *decoder) array(depth int) (StrictArray, error) {
	b, err := d.take(4, "an array's count")
	if err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(b)
	if uint64(n) > uint64(len(d.p)-d.at) {
		return nil, fmt.Errorf("amf0: at byte %d: an array of %d values in %d bytes: %w", d.at, n, len(d.p)-d.at, io.ErrUnexpectedEOF)
	}
	a := StrictArray{}
	if d.skim {
		a = nil // what is empty and not nil would be allocated
	}
	for range n {
		v, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		if !d.skim {
			a = append(a, v)
		}
	}
	return a, nil
}

// properties reads names and values up to the object's end: an empty name and
// the marker.
func (d *decoder) properties(depth int) ([]Property, error) {
	all := []Property{}
	if d.skim {
		all = nil
	}
	for {
		end, err := d.end()
		if err != nil || end {
			return all, err
		}
		name, err := d.short("a name")
		if err != nil {
			return nil, err
		}
		v, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		if !d.skim {
			all = append(all, Property{Name: name, Value: v})
		}
	}
}

// end reads an object's end, if it is next.
func (d *decoder) end() (bool, error) {
	if p := d.p[d.at:]; len(p) < 3 || p[0] != 0 || p[1] != 0 || p[2] != markObjectEnd {
		return false, nil
	}
	_, err := d.take(3, "an object's end")
	return true, err
}
