package tsmedia

import "github.com/bluenviron/mediacommon/v2/pkg/bits"

// idProgram begins the element that says which channels a program has (ISO/IEC 14496-3, table 4.85).
const idProgram = 5

// programElement returns that element as a frame may begin with it, without a comment, of an
// AudioSpecificConfig that has it; nil for others. The headers of ADTS have no place for it.
func programElement(config []byte) []byte {
	at := 0
	var short error
	read := func(n int) int {
		v, err := bits.ReadBits(config, &at, n)
		if err != nil {
			short = err
		}
		return int(v)
	}
	rate := func() {
		if read(4) == 15 {
			read(24)
		}
	}
	kind := read(5) // table 1.15
	rate()
	if read(4) != 0 {
		return nil // the channels have a number
	}
	if kind == 5 || kind == 29 { // HE-AAC
		rate()
		read(5)
	}
	read(1) // table 4.1
	if read(1) == 1 {
		read(14)
	}
	read(1)
	begin := at
	read(4 + 2 + 4) // table 4.2
	wide := read(4) + read(4) + read(4)
	low := read(2)
	others, coupling := read(3), read(4)
	for _, n := range []int{4, 4, 3} {
		if read(1) == 1 {
			read(n)
		}
	}
	for range wide + coupling {
		read(5)
	}
	for range low + others {
		read(4)
	}
	if short != nil || wide+low == 0 {
		return nil
	}
	out, to := make([]byte, (3+at-begin+7)/8+1), 0
	bits.WriteBitsUnsafe(out, &to, idProgram, 3)
	for at, end := begin, at; at < end; {
		bits.WriteFlagUnsafe(out, &to, bits.ReadFlagUnsafe(config, &at))
	}
	return out
}
