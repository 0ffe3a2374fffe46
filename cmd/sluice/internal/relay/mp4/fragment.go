package mp4

import (
	"encoding/binary"
	"fmt"
	"time"
)

// A Sample is a picture or a frame of sound in a fragment.
type Sample struct {
	Size     uint32
	Duration uint32 // ticks of its track
	Offset   int32  // from when it is decoded to when it is shown, ticks
	Key      bool
}

// A Run is what a fragment has of one track: samples that are decoded one after another.
type Run struct {
	Track   uint32 // its id
	Base    uint64 // when the first is decoded, ticks
	Samples []Sample
}

// Bytes returns how many bytes the samples have.
func (r *Run) Bytes() (n int64) {
	for _, s := range r.Samples {
		n += int64(s.Size)
	}
	return n
}

// Length returns how long the samples are together, in ticks.
func (r *Run) Length() (n uint64) {
	for _, s := range r.Samples {
		n += uint64(s.Duration)
	}
	return n
}

// MaxSamples is how many samples a fragment may have for this package to read it, all tracks together.
const MaxSamples = maxMoof/entryLen - 1<<10

const (
	prftLen  = boxHead + 4 + 4 + 8 + 8
	trunHead = boxHead + 4 + 4 + 4
	trafHead = boxHead + (boxHead + 4 + 4) + (boxHead + 4 + 8) + trunHead
	moofHead = boxHead + (boxHead + 4 + 4)
	entryLen = 16

	notSync = 1 << 16   // sample flags: no sync sample
	synced  = 0x2000000 // depends on no other
	depends = 0x1000000
)

// AppendFragment appends what a fragment has before the bytes of its samples, which
// follow in the order of the runs. wall is the time of day at the first run's base.
func AppendFragment(dst []byte, sequence uint32, wall time.Time, runs []Run) []byte {
	be := binary.BigEndian
	moofLen, mdatLen := moofHead, int64(boxHead)
	for i := range runs {
		moofLen += trafHead + entryLen*len(runs[i].Samples)
		mdatLen += runs[i].Bytes()
	}
	if mdatLen > 1<<32-1 {
		panic(fmt.Sprintf("mp4: a fragment of %d bytes", mdatLen))
	}
	// ISO/IEC 14496-12, section 8.16.5.
	dst = append(be.AppendUint32(dst, prftLen), "prft\x01\x00\x00\x18"...)
	dst = be.AppendUint32(dst, runs[0].Track)
	dst = be.AppendUint64(dst, ntp(wall))
	dst = be.AppendUint64(dst, runs[0].Base)

	dst = append(be.AppendUint32(dst, uint32(moofLen)), "moof"...)
	dst = append(be.AppendUint32(dst, boxHead+8), "mfhd\x00\x00\x00\x00"...)
	dst = be.AppendUint32(dst, sequence)
	at := uint32(moofLen + boxHead)
	for i := range runs {
		r := &runs[i]
		n := uint32(len(r.Samples))
		dst = append(be.AppendUint32(dst, uint32(trafHead)+entryLen*n), "traf"...)
		dst = append(be.AppendUint32(dst, boxHead+8), "tfhd\x00\x02\x00\x00"...) // offsets from the moof's beginning
		dst = be.AppendUint32(dst, r.Track)
		dst = append(be.AppendUint32(dst, boxHead+12), "tfdt\x01\x00\x00\x00"...)
		dst = be.AppendUint64(dst, r.Base)
		dst = append(be.AppendUint32(dst, trunHead+entryLen*n), "trun\x01\x00\x0f\x01"...) // all four fields of samples
		dst = be.AppendUint32(dst, n)
		dst = be.AppendUint32(dst, at)
		for _, s := range r.Samples {
			flags := uint32(synced)
			if !s.Key {
				flags = depends | notSync
			}
			dst = be.AppendUint32(dst, s.Duration)
			dst = be.AppendUint32(dst, s.Size)
			dst = be.AppendUint32(dst, flags)
			dst = be.AppendUint32(dst, uint32(s.Offset))
			at += s.Size
		}
	}
	return append(be.AppendUint32(dst, uint32(mdatLen)), "mdat"...)
}

// epoch is from when the times of NTP count, in seconds before those of Unix.
const epoch = 2_208_988_800

func ntp(t time.Time) uint64 {
	return uint64(t.Unix()+epoch)<<32 | uint64(t.Nanosecond())<<32/1_000_000_000
}

func wallOf(n uint64) time.Time {
	// To the microsecond: the fraction of 32 bits does not give nanoseconds back.
	ns := (n&0xffffffff*1_000_000_000 + 1<<31) >> 32
	return time.Unix(int64(n>>32)-epoch, int64(ns)).Round(time.Microsecond)
}

// parseRuns reads the moof of a fragment as AppendFragment writes it. mdat is how many
// bytes of samples there are.
func parseRuns(moof []byte, mdat int64) ([]Run, error) {
	be := binary.BigEndian
	bad := func(what string) ([]Run, error) { return nil, fmt.Errorf("%w: %s of a fragment", ErrSyntax, what) }
	if len(moof) < moofHead {
		return bad("the front")
	}
	var runs []Run
	var sum int64
	for p := moof[moofHead:]; len(p) > 0; {
		kind, size, ok := box(p)
		if !ok || kind != "traf" || size > len(p) || size < trafHead {
			return bad("a track")
		}
		r := Run{Track: be.Uint32(p[boxHead+12:]), Base: be.Uint64(p[boxHead+16+12:])}
		trun := p[boxHead+16+20 : size]
		kind, length, _ := box(trun)
		n := be.Uint32(trun[boxHead+4:])
		if kind != "trun" || length != len(trun) || uint64(n)*entryLen != uint64(len(trun)-trunHead) || be.Uint32(trun[boxHead:]) != 0x01000f01 {
			return bad("the table")
		}
		r.Samples = make([]Sample, n) // n entries are there
		for i := range r.Samples {
			e := trun[trunHead+entryLen*i:]
			r.Samples[i] = Sample{Duration: be.Uint32(e), Size: be.Uint32(e[4:]), Key: be.Uint32(e[8:])&notSync == 0, Offset: int32(be.Uint32(e[12:]))}
		}
		sum += r.Bytes()
		runs = append(runs, r)
		p = p[size:]
	}
	if sum != mdat || len(runs) == 0 || len(runs[0].Samples) == 0 {
		return bad("the length")
	}
	return runs, nil
}
