package abuse

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/rtmp"
)

// markers of AMF 0 (its specification, section 2.1).
const (
	markString     = 2
	markObject     = 3
	markNull       = 5
	markReference  = 7
	markECMA       = 8
	markStrict     = 10
	markLongString = 12
	markXML        = 15
	markTyped      = 16
	markAMF3       = 17
)

// short is a string with its marker.
func short(s string) []byte { return append(append([]byte{markString}, be16(uint16(len(s)))...), s...) }

// number is one with its marker.
func number(f float64) []byte { b, _ := amf0.Append(nil, f); return b }

// amf is the section of AMF 0's specification that lists the types.
const amf = "AMF 0, section 2"

// values are the cases of what stands in commands and data.
func values() []Case {
	return slices.Concat(commandValues(), applications(), metadata(), amf3Commands())
}

// payload adds a case that sends payload as a command of a client that has connected.
func (s *section) payload(title string, want Expectation, payload ...[]byte) {
	s.rtmp(title, connected, want, func(p *peer) {
		p.send(p.message(3, rtmp.TypeCommandAMF0, 0, 0, join(payload...)))
	})
}

// createCall is the beginning of a command that every server answers.
func createCall() []byte { return join(short("createStream"), number(7)) }

// commandValues are what a command has as name, as transaction and as arguments.
func commandValues() []Case {
	s := section{clause: amf}
	call := createCall()
	s.payload("a command without a transaction", Harmless, short("createStream"))
	s.payload("a command whose transaction is a string", Harmless, short("createStream"), short("one"))
	s.payload("a command whose name is a number", Harmless, number(3), number(4))
	s.payload("a command whose name is empty", Harmless, short(""), number(7))
	s.payload("a command of the name's marker alone", Harmless, []byte{markString})
	s.payload("a name that says 65,535 bytes and has 4", Harmless, []byte{markString, 0xFF, 0xFF}, []byte("play"))
	s.payload("a name of 60,000 bytes", Harmless, short(strings.Repeat("a", 60_000)), number(7))
	s.payload("a long string that says 4 GiB", Harmless, call, []byte{markLongString, 0xFF, 0xFF, 0xFF, 0xFF}, []byte("x"))
	s.payload("a long string that says 2 GiB - 1", Harmless, call, []byte{markLongString, 0x7F, 0xFF, 0xFF, 0xFF}, []byte("x"))
	s.payload("an object that does not end", Harmless, call, []byte{markObject, 0, 1, 'a'}, number(1))
	s.payload("an object whose last name says 65,535 bytes", Harmless, call, []byte{markObject, 0xFF, 0xFF, 'a'})
	s.payload("an array with names that says 2^32 - 1 entries", Harmless, call, []byte{markECMA, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 9})
	s.payload("an array that says 2^32 - 1 entries", Harmless, call, []byte{markStrict, 0xFF, 0xFF, 0xFF, 0xFF})
	s.payload("an array of arrays that say 2^24 entries each", Harmless, call, bytes.Repeat([]byte{markStrict, 1, 0, 0, 0}, 1000))
	s.payload("10,000 objects in each other", Harmless, call, bytes.Repeat([]byte{markObject, 0, 1, 'a'}, 10_000))
	s.payload("10,000 arrays in each other", Harmless, call, bytes.Repeat([]byte{markStrict, 0, 0, 0, 1}, 10_000))
	s.payload("30,000 null values", Harmless, call, bytes.Repeat([]byte{markNull}, 30_000))
	s.payload("a reference to an object that is not there", Harmless, call, []byte{markReference, 0, 99})
	s.payload("a reference to the object that it is in", Harmless, call, []byte{markObject, 0, 1, 'a', markReference, 0, 0, 0, 0, 9})
	s.payload("an XML document of 4 GiB", Harmless, call, []byte{markXML, 0xFF, 0xFF, 0xFF, 0xFF})
	s.payload("a typed object without its class", Harmless, call, []byte{markTyped, 0, 0, 0, 0, 9})
	s.payload("a value of AMF 3", Harmless, call, []byte{markAMF3, 1})
	for _, mark := range []byte{4, 13, 14, 18, 128, 255} {
		s.payload(fmt.Sprintf("a value of the reserved or unknown type %d", mark), Harmless, call, []byte{mark, 0, 0})
	}
	s.payload("a transaction that is not a number (NaN)", Harmless, short("createStream"), number(math.NaN()))
	s.payload("an infinite transaction", Harmless, short("createStream"), number(math.Inf(1)))
	s.payload("a negative transaction", Harmless, short("createStream"), number(-1), []byte{markNull})
	s.payload("a transaction of 10^300", Harmless, short("createStream"), number(1e300), []byte{markNull})
	s.payload("a date that ends in the middle", Harmless, call, []byte{11, 0, 0})
	s.payload("a number of 3 bytes", Harmless, call, []byte{0, 1, 2, 3})
	s.payload("a name that is not UTF-8", Harmless, short("\xFF\xFE\xC0\x80"), number(7))
	s.payload("a whole command, and noise behind it", Harmless, call, []byte{markNull}, bytes.Repeat([]byte{0xEE}, 100))
	var wide []byte
	for i := range 5000 {
		name := fmt.Sprintf("p%d", i)
		wide = append(append(append(wide, be16(uint16(len(name)))...), name...), markNull)
	}
	s.payload("an object of 5,000 properties", Harmless, call, []byte{markObject}, wide, []byte{0, 0, 9})
	return s.cases
}

// connect adds a case of what a client sends as its connect.
func (s *section) connect(title string, want Expectation, payload func(*peer) []byte) {
	s.rtmp(title, shaken, want, func(p *peer) { p.send(payload(p)) })
}

// applications are what a connect asks for.
func applications() []Case {
	s := section{clause: "RTMP 7.2.1.1"}
	app := func(v amf0.Value) func(*peer) []byte { return func(p *peer) []byte { return p.connect(v) } }
	s.connect("connect whose application is a number", Harmless, app(float64(7)))
	s.connect("connect to an application of 30,000 bytes", Harmless, app(strings.Repeat("a", 30_000)))
	s.connect("connect to the application ../../etc", Harmless, app("../../etc"))
	s.connect("connect to an application with a zero byte", Harmless, app("li\x00ve"))
	s.connect("connect to an application with line feeds", Harmless, app("live\r\nX: y"))
	s.connect("connect to an application that is not UTF-8", Harmless, app("\xFF\xFE"))
	s.connect("connect without an object", Harmless, func(p *peer) []byte { return p.command(0, "connect", 1, nil) })
	s.connect("connect with an array of 100 applications", Harmless, func(p *peer) []byte {
		var o amf0.Object
		for range 100 {
			o = append(o, amf0.Property{Name: "app", Value: "live"})
		}
		return p.command(0, "connect", 1, o)
	})
	s.connect("connect for AMF 3", Harmless, func(p *peer) []byte {
		return p.command(0, "connect", 1, amf0.Object{{Name: "app", Value: p.target.app}, {Name: "objectEncoding", Value: float64(3)}})
	})
	s.connect("connect with an address of 30,000 bytes", Harmless, func(p *peer) []byte {
		return p.command(0, "connect", 1, amf0.Object{{Name: "app", Value: p.target.app}, {Name: "tcUrl", Value: "rtmp://" + strings.Repeat("h", 30_000)}})
	})
	return s.cases
}

// data adds a case of a data message of a publisher.
func (s *section) data(title string, want Expectation, payload ...[]byte) {
	s.rtmp(title, publishing, want, func(p *peer) {
		p.send(p.message(4, rtmp.TypeDataAMF0, p.id, 0, join(payload...)))
	})
}

// metadata is what a publisher says about its stream.
func metadata() []Case {
	s := section{clause: "FLV, E.4.4.1"}
	set := join(short("@setDataFrame"), short("onMetaData"))
	s.data("metadata without values", Harmless, set)
	s.data("metadata whose name alone is there", Harmless, short("@setDataFrame"))
	s.data("metadata that is a number", Harmless, set, number(3))
	s.data("metadata that ends in the middle", Harmless, set, []byte{markECMA, 0, 0, 0, 9, 0, 5, 'w', 'i'})
	s.data("metadata of 5,000 objects in each other", Harmless, set, bytes.Repeat([]byte{markObject, 0, 1, 'a'}, 5000))
	s.data("metadata with a width that is not a number (NaN)", Harmless, set, []byte{markObject, 0, 5}, []byte("width"), number(math.NaN()), []byte{0, 0, 9})
	s.data("metadata with 10^308 frames a second", Harmless, set, []byte{markObject, 0, 9}, []byte("framerate"), number(1e308), []byte{0, 0, 9})
	s.data("noise as data", Harmless, bytes.Repeat([]byte{0xA5, 0x5A, 0x02}, 200))
	s.rtmp("1,000 times metadata", publishing, Harmless, func(p *peer) {
		for range 1000 {
			p.send(p.message(4, rtmp.TypeDataAMF0, p.id, 0, join(set, []byte{markObject, 0, 5}, []byte("width"), number(640), []byte{0, 0, 9})))
		}
	})
	return s.cases
}

// amf3Commands are commands in the other form.
func amf3Commands() []Case {
	s := section{clause: amf}
	s.rtmp("a command of AMF 3 without its first byte", connected, Harmless, func(p *peer) {
		p.send(p.message(3, rtmp.TypeCommandAMF3, 0, 0, createCall()))
	})
	s.rtmp("an empty command of AMF 3", connected, Harmless, func(p *peer) {
		p.send(p.message(3, rtmp.TypeCommandAMF3, 0, 0, nil))
	})
	return s.cases
}
