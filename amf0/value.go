package amf0

import (
	"errors"
)

// Errors that callers match with errors.Is; what Parse returns says at which
// byte. Input that ends inside a value is io.ErrUnexpectedEOF.
var (
	// ErrSyntax: the bytes are no AMF 0, or use a type of it that is
	// reserved (movie clips, record sets) or another format (AMF 3).
	ErrSyntax = errors.New("amf0: syntax error")
	// ErrTooDeep: objects and arrays lie in each other deeper than Limits.Depth.
	ErrTooDeep = errors.New("amf0: nested too deep")
	// ErrTooMany: more values than Limits.Values.
	ErrTooMany = errors.New("amf0: too many values")
	// ErrTooLong: more bytes than Limits.Bytes, or a name that does not fit its
	// 16-bit length.
	ErrTooLong = errors.New("amf0: too long")
	// ErrType: Append was given what AMF 0 cannot say.
	ErrType = errors.New("amf0: no such type")
)

// A Value is one of float64, bool, string, nil (null), Undefined, Object,
// TypedObject, ECMAArray, StrictArray, Date, XML, Reference and Unsupported.
// Append takes int too and writes it as a number, which is exact up to 2^53. A string has no limit of
// 64 KiB here: what is longer is written as AMF 0's long string.
type Value any

// A Property is a named value of an object.
type Property struct {
	Name  string
	Value Value
}

// An Object is an anonymous object (section 2.5). The order of properties is
// that of the wire, and a name may come twice.
type Object []Property

// A TypedObject is an object with the name of its class (section 2.18).
type TypedObject struct {
	Class      string
	Properties Object
}

// An ECMAArray is an array with names, as most metadata is (section 2.10). The
// count before it on the wire is a hint that is not looked at.
type ECMAArray []Property

// A StrictArray is an array without names (section 2.12).
type StrictArray []Value

// Undefined is the undefined value (section 2.8), which is not null.
type Undefined struct{}

// Unsupported stands for what the sender could not write (section 2.15).
type Unsupported struct{}

// A Date is a moment (section 2.13).
type Date struct {
	Milliseconds float64 // since 1970-01-01 00:00 UTC
	Zone         int16   // minutes; the specification wants 0
}

// XML is a document in text (section 2.17).
type XML string

// A Reference is the index of an object or array that came earlier in the same
// message (section 2.9). It is handed on and not followed: few bytes could
// otherwise say a value of any size.
type Reference uint16

// Properties returns the properties of v, not copied, if it is an Object, an
// ECMAArray or a TypedObject, and otherwise nil. Senders use one of these where
// another is expected, above all in metadata.
func Properties(v Value) Object {
	switch v := v.(type) {
	case Object:
		return v
	case ECMAArray:
		return Object(v)
	case TypedObject:
		return v.Properties
	}
	return nil
}

// Get returns the value of the last property with that name: a later one
// overwrites in the player too.
func (o Object) Get(name string) (Value, bool) { return get(o, name) }

// String returns the property of that name if it is a string, and otherwise
// nothing.
func (o Object) String(name string) string { return text(o, name) }

// Number returns the property of that name if it is a number, and otherwise 0.
func (o Object) Number(name string) float64 { return number(o, name) }

// Get returns the value of the last property with that name.
func (a ECMAArray) Get(name string) (Value, bool) { return get(a, name) }

// String returns the property of that name if it is a string, and otherwise
// nothing.
func (a ECMAArray) String(name string) string { return text(a, name) }

// Number returns the property of that name if it is a number, and otherwise 0.
func (a ECMAArray) Number(name string) float64 { return number(a, name) }

func get(properties []Property, name string) (Value, bool) {
	for i := len(properties) - 1; i >= 0; i-- {
		if properties[i].Name == name {
			return properties[i].Value, true
		}
	}
	return nil, false
}

func text(properties []Property, name string) string {
	v, _ := get(properties, name)
	s, _ := v.(string)
	return s
}

func number(properties []Property, name string) float64 {
	v, _ := get(properties, name)
	n, _ := v.(float64)
	return n
}
