package evidence

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/google/pprof/profile"
)

// Bounds of what is taken from one profile. Of a server with a hundred
// thousand different stacks the profile has some 20 MiB before it is packed.
const (
	maxPprof       = 32 << 20
	maxPprofFields = 2 << 20
)

// ErrTooLarge means that what a tool wrote is beyond what is read of it.
var ErrTooLarge = errors.New("larger than is read")

// readPprof reads a profile in the form of package runtime/pprof: a protocol
// buffer as in pprof's profile.proto, which gzip has packed or not.
func readPprof(r io.Reader) (*profile.Profile, error) {
	data, err := atMost(r, maxPprof)
	if err != nil {
		return nil, fmt.Errorf("evidence: reading a profile: %w", err)
	}
	if len(data) >= 2 && data[0] == 0x1f && data[1] == 0x8b {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("evidence: unpacking a profile: %w", err)
		}
		if data, err = atMost(z, maxPprof); err != nil {
			return nil, fmt.Errorf("evidence: unpacking a profile: %w", err)
		}
	}
	fields, err := protoFields(data, 2)
	if err != nil {
		return nil, err
	}
	if fields > maxPprofFields {
		return nil, fmt.Errorf("evidence: a profile of more than %d fields: %w", maxPprofFields, ErrTooLarge)
	}
	var p *profile.Profile
	err = guarded("profile", func() error {
		if p, err = profile.ParseUncompressed(data); err != nil {
			return err
		}
		return p.CheckValid()
	})
	if err != nil {
		return nil, fmt.Errorf("evidence: parsing a profile: %w", err)
	}
	return p, nil
}

// atMost reads all of r, which may be no longer than limit bytes.
func atMost(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("more than %d MiB: %w", limit>>20, ErrTooLarge)
	}
	return data, nil
}

// guarded calls the parser of a package that is not ours. What it does on
// hostile input is not ours to promise, so that a panic in it becomes an error.
func guarded(what string, parse func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("evidence: the %s cannot be parsed: %v", what, r)
		}
	}()
	return parse()
}

var errCut = fmt.Errorf("evidence: a profile that is cut off or none: %w", io.ErrUnexpectedEOF)

// protoFields counts the fields of a protocol buffer and, down to depth, of the
// messages in it, before a parser makes an object of each: two bytes can become
// a hundred. It stops counting above maxPprofFields.
func protoFields(data []byte, depth int) (int, error) {
	fields := 0
	for len(data) > 0 && fields <= maxPprofFields {
		fields++
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			return fields, errCut
		}
		data = data[n:]
		size := uint64(0)
		switch tag & 7 {
		case 0:
			_, n := binary.Uvarint(data)
			if n <= 0 {
				return fields, errCut
			}
			size = uint64(n)
		case 1:
			size = 8
		case 2:
			var n int
			if size, n = binary.Uvarint(data); n <= 0 || size > uint64(len(data)-n) {
				return fields, errCut
			}
			data = data[n:]
			// A text of the string table is no message, but below the top it may look
			// like one: field 6 is skipped there.
			if depth > 1 && tag>>3 != 6 {
				inner, _ := protoFields(data[:size], depth-1)
				fields += inner
			}
		case 5:
			size = 4
		default:
			return fields, fmt.Errorf("evidence: no profile: wire type %d", tag&7)
		}
		if size > uint64(len(data)) {
			return fields, errCut
		}
		data = data[size:]
	}
	return fields, nil
}

// addPprof adds the values of a profile of the named type to the set, times
// sign: -1 takes an earlier profile of the same counters away. What the taking
// of profiles costs is left out.
func addPprof(s *stackSet, p *profile.Profile, value, count string, sign int64) error {
	v, err := sampleType(p, value)
	if err != nil {
		return err
	}
	c, err := sampleType(p, count)
	if err != nil {
		return err
	}
	var frames []Frame
	for _, sample := range p.Sample {
		frames = frames[:0]
		for _, location := range sample.Location {
			frames = appendLocation(frames, location)
		}
		if isMeasuring(frames) {
			continue
		}
		s.add(frames, sign*sample.Value[v], sign*sample.Value[c])
	}
	return nil
}

// appendLocation adds the calls at one address: several where functions were
// inlined, the innermost first.
func appendLocation(frames []Frame, location *profile.Location) []Frame {
	named := false
	for _, line := range location.Line {
		if line.Function == nil {
			continue
		}
		named = true
		frames = append(frames, Frame{Func: line.Function.Name, File: base(line.Function.Filename), Line: int(line.Line)})
	}
	if !named {
		frames = append(frames, Frame{Func: fmt.Sprintf("%#x", location.Address)})
	}
	return frames
}

func sampleType(p *profile.Profile, name string) (int, error) {
	have := []string{}
	for i, t := range p.SampleType {
		if t.Type == name {
			return i, nil
		}
		have = append(have, t.Type)
	}
	return 0, fmt.Errorf("evidence: a profile without %q; it has %q", name, have)
}

// pprofOf makes a Profile of one of the values in p, less those in before,
// which may be nil.
func pprofOf(p, before *profile.Profile, value, count, unit string) (*Profile, error) {
	s := newStackSet()
	if err := addPprof(s, p, value, count, 1); err != nil {
		return nil, err
	}
	if before != nil {
		if err := addPprof(s, before, value, count, -1); err != nil {
			return nil, err
		}
	}
	return s.profile(unit, keptStacks), nil
}

// The units of a Profile.
const (
	unitTime    = "ns"
	unitBytes   = "B"
	unitObjects = "objects"
)

// The profiles that are taken of a process, from the forms that package
// runtime/pprof writes.
func cpuProfile(p *profile.Profile) (*Profile, error) {
	return pprofOf(p, nil, "cpu", "samples", unitTime)
}

func waitProfile(p *profile.Profile) (*Profile, error) {
	return pprofOf(p, nil, "delay", "contentions", unitTime)
}

func allocProfiles(p, before *profile.Profile) (space, objects *Profile, err error) {
	if space, err = pprofOf(p, before, "alloc_space", "alloc_objects", unitBytes); err != nil {
		return nil, nil, err
	}
	objects, err = pprofOf(p, before, "alloc_objects", "alloc_objects", unitObjects)
	return space, objects, err
}
