package amf0

import (
	"fmt"
	"io"
)

// Each calls yield with the name and the encoded value of every property of the
// Object, ECMAArray or TypedObject at the front of p, until it returns false. Both
// are views of p. No value is made, so that a few are found among many at little
// cost; Parse reads one of them. The limits are the defaults. A value that has no
// properties is an error that matches ErrSyntax; with others, those of Parse, yield may
// have been called already.
func Each(p []byte, yield func(name, value []byte) bool) error {
	if yield == nil {
		panic("amf0: Each with a nil function")
	}
	if len(p) == 0 {
		return io.EOF
	}
	d := Limits{}.begin(p)
	d.skim, d.values, d.at = true, 1, 1
	switch p[0] {
	case markObject:
	case markECMAArray:
		if _, err := d.take(4, "an array's count"); err != nil {
			return err
		}
	case markTypedObject:
		if _, err := d.short("a class name"); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%w: marker %#02x is of no value with properties", ErrSyntax, p[0])
	}
	for {
		if end, err := d.end(); err != nil || end {
			return err
		}
		begin := d.at + 2 // behind the length of the name
		if _, err := d.short("a name"); err != nil {
			return err
		}
		name, at := p[begin:d.at], d.at
		if _, err := d.value(1); err != nil {
			return err
		}
		if !yield(name, p[at:d.at]) {
			return nil
		}
	}
}
