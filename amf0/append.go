package amf0

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Append appends v to dst. It fails, and returns dst as it was, for a type that
// is not Value's (ErrType), a name of more than 65,535 bytes (ErrTooLong), and
// nesting beyond DefaultDepth (ErrTooDeep). dst is borrowed until the call returns; the result is
// the caller's.
func Append(dst []byte, v Value) ([]byte, error) {
	out, err := appendValue(dst, v, 0)
	if err != nil {
		return dst, err
	}
	return out, nil
}

func appendValue(p []byte, v Value, depth int) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(p, markNull), nil
	case float64:
		return appendNumber(append(p, markNumber), v), nil
	case int:
		return appendNumber(append(p, markNumber), float64(v)), nil
	case bool:
		b := byte(0)
		if v {
			b = 1
		}
		return append(p, markBoolean, b), nil
	case string:
		if len(v) <= math.MaxUint16 {
			return appendShort(append(p, markString), v)
		}
		return appendLong(append(p, markLongString), v)
	case XML:
		return appendLong(append(p, markXML), string(v))
	case Undefined:
		return append(p, markUndefined), nil
	case Unsupported:
		return append(p, markUnsupported), nil
	case Reference:
		return binary.BigEndian.AppendUint16(append(p, markReference), uint16(v)), nil
	case Date:
		p = appendNumber(append(p, markDate), v.Milliseconds)
		return binary.BigEndian.AppendUint16(p, uint16(v.Zone)), nil
	case Object, TypedObject, ECMAArray, StrictArray:
		if depth == DefaultDepth {
			return p, fmt.Errorf("%w: limit %d", ErrTooDeep, DefaultDepth)
		}
		return appendCompound(p, v, depth+1)
	}
	return p, fmt.Errorf("%w: %T", ErrType, v)
}

func appendCompound(p []byte, v Value, depth int) (_ []byte, err error) {
	switch v := v.(type) {
	case Object:
		return appendProperties(append(p, markObject), v, depth)
	case TypedObject:
		if p, err = appendShort(append(p, markTypedObject), v.Class); err != nil {
			return p, err
		}
		return appendProperties(p, v.Properties, depth)
	case ECMAArray:
		p = binary.BigEndian.AppendUint32(append(p, markECMAArray), uint32(len(v)))
		return appendProperties(p, v, depth)
	case StrictArray:
		p = binary.BigEndian.AppendUint32(append(p, markStrictArray), uint32(len(v)))
		for _, e := range v {
			if p, err = appendValue(p, e, depth); err != nil {
				return p, err
			}
		}
	}
	return p, nil
}

func appendProperties(p []byte, properties []Property, depth int) (_ []byte, err error) {
	for _, e := range properties {
		if p, err = appendShort(p, e.Name); err != nil {
			return p, err
		}
		if p, err = appendValue(p, e.Value, depth); err != nil {
			return p, err
		}
	}
	return append(p, 0, 0, markObjectEnd), nil
}

func appendNumber(p []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(p, math.Float64bits(v))
}

func appendShort(p []byte, s string) ([]byte, error) {
	if len(s) > math.MaxUint16 {
		return p, fmt.Errorf("%w: a name of %d bytes, limit %d", ErrTooLong, len(s), math.MaxUint16)
	}
	return append(binary.BigEndian.AppendUint16(p, uint16(len(s))), s...), nil
}

func appendLong(p []byte, s string) ([]byte, error) {
	if uint64(len(s)) > math.MaxUint32 {
		return p, fmt.Errorf("%w: a string of %d bytes", ErrTooLong, len(s))
	}
	return append(binary.BigEndian.AppendUint32(p, uint32(len(s))), s...), nil
}
