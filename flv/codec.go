package flv

import "fmt"

// A FourCC names a codec. Codecs of enhanced RTMP have the four bytes of their
// packets. Codecs that classic FLV has by number are given such a FourCC too, so
// that one name serves both forms. An unknown number is its own FourCC, below 16.
type FourCC uint32

// Codecs of video.
const (
	CodecAVC   FourCC = 'a'<<24 | 'v'<<16 | 'c'<<8 | '1' // number 7
	CodecHEVC  FourCC = 'h'<<24 | 'v'<<16 | 'c'<<8 | '1' // number 12, a usage that no specification has
	CodecVVC   FourCC = 'v'<<24 | 'v'<<16 | 'c'<<8 | '1'
	CodecAV1   FourCC = 'a'<<24 | 'v'<<16 | '0'<<8 | '1' // number 13, a usage that no specification has
	CodecVP8   FourCC = 'v'<<24 | 'p'<<16 | '0'<<8 | '8'
	CodecVP9   FourCC = 'v'<<24 | 'p'<<16 | '0'<<8 | '9'
	CodecJPEG  FourCC = 'j'<<24 | 'p'<<16 | 'e'<<8 | 'g' // number 1
	CodecFLV1  FourCC = 'F'<<24 | 'L'<<16 | 'V'<<8 | '1' // number 2, Sorenson H.263
	CodecFSV1  FourCC = 'F'<<24 | 'S'<<16 | 'V'<<8 | '1' // number 3, screen video
	CodecVP6   FourCC = 'V'<<24 | 'P'<<16 | '6'<<8 | 'F' // number 4
	CodecVP6A  FourCC = 'V'<<24 | 'P'<<16 | '6'<<8 | 'A' // number 5, with alpha
	CodecFSV2  FourCC = 'F'<<24 | 'S'<<16 | 'V'<<8 | '2' // number 6, screen video 2
	codecCount        = 16
)

// Codecs of audio.
const (
	CodecAAC      FourCC = 'm'<<24 | 'p'<<16 | '4'<<8 | 'a' // number 10
	CodecMP3      FourCC = '.'<<24 | 'm'<<16 | 'p'<<8 | '3' // number 2
	CodecOpus     FourCC = 'O'<<24 | 'p'<<16 | 'u'<<8 | 's'
	CodecFLAC     FourCC = 'f'<<24 | 'L'<<16 | 'a'<<8 | 'C'
	CodecAC3      FourCC = 'a'<<24 | 'c'<<16 | '-'<<8 | '3'
	CodecEAC3     FourCC = 'e'<<24 | 'c'<<16 | '-'<<8 | '3'
	CodecPCM      FourCC = 'l'<<24 | 'p'<<16 | 'c'<<8 | 'm' // number 0, in the byte order of the machine that made it
	CodecADPCM    FourCC = 'S'<<24 | 'W'<<16 | 'F'<<8 | 'A' // number 1
	CodecPCMLE    FourCC = 's'<<24 | 'o'<<16 | 'w'<<8 | 't' // number 3, little-endian
	CodecNelly16k FourCC = 'n'<<24 | 'm'<<16 | '1'<<8 | '6' // number 4, Nellymoser at 16 kHz
	CodecNelly8k  FourCC = 'n'<<24 | 'm'<<16 | '0'<<8 | '8' // number 5, Nellymoser at 8 kHz
	CodecNelly    FourCC = 'n'<<24 | 'm'<<16 | 'o'<<8 | 's' // number 6, Nellymoser
	CodecALaw     FourCC = 'a'<<24 | 'l'<<16 | 'a'<<8 | 'w' // number 7
	CodecMuLaw    FourCC = 'u'<<24 | 'l'<<16 | 'a'<<8 | 'w' // number 8
	CodecSpeex    FourCC = 's'<<24 | 'p'<<16 | 'e'<<8 | 'x' // number 11
	CodecMP3At8k  FourCC = 'm'<<24 | 'p'<<16 | '3'<<8 | '8' // number 14, MP3 at 8 kHz
	CodecDevice   FourCC = 'd'<<24 | 'e'<<16 | 'v'<<8 | 's' // number 15, a device's own
)

// Numbers with a meaning of their own in the header of a packet.
const (
	numberAVC      = 7
	numberAAC      = 10
	numberEnhanced = 9 // audio whose header goes on in enhanced RTMP's form
)

// videoNumbers and audioNumbers are the codecs that have a number (sections
// E.4.3.1 and E.4.2.1); 0 is for unknown numbers, and for audio's 9.
var (
	videoNumbers = [codecCount]FourCC{
		1: CodecJPEG, 2: CodecFLV1, 3: CodecFSV1, 4: CodecVP6, 5: CodecVP6A, 6: CodecFSV2,
		numberAVC: CodecAVC, 12: CodecHEVC, 13: CodecAV1,
	}
	audioNumbers = [codecCount]FourCC{
		0: CodecPCM, 1: CodecADPCM, 2: CodecMP3, 3: CodecPCMLE, 4: CodecNelly16k, 5: CodecNelly8k, 6: CodecNelly,
		7: CodecALaw, 8: CodecMuLaw, numberAAC: CodecAAC, 11: CodecSpeex, 14: CodecMP3At8k, 15: CodecDevice,
	}
)

// numbered returns the codec with a number.
func numbered(numbers *[codecCount]FourCC, n uint8) FourCC {
	if c := numbers[n]; c != 0 {
		return c
	}
	return FourCC(n)
}

// number returns the number of a codec, if it has one.
func (c FourCC) number(numbers *[codecCount]FourCC) (uint8, bool) {
	for n, other := range numbers {
		if c == other && c != 0 || other == 0 && c == FourCC(n) {
			return uint8(n), true
		}
	}
	return 0, false
}

// packets reports whether packets of a codec of video that has a number say
// what they are and when the picture is shown (AVCVIDEOPACKET).
func (c FourCC) packets() bool {
	return c == CodecAVC || c == CodecHEVC || c == CodecAV1
}

// reorders reports whether enhanced coded frames have a composition time.
func (c FourCC) reorders() bool {
	return c == CodecAVC || c == CodecHEVC || c == CodecVVC
}

// String returns the four bytes, such as "avc1", or a number where they are no letters.
func (c FourCC) String() string {
	if c < codecCount {
		return fmt.Sprintf("codec %d", uint32(c))
	}
	b := [4]byte{byte(c >> 24), byte(c >> 16), byte(c >> 8), byte(c)}
	for _, ch := range b {
		if ch < ' ' || ch > '~' {
			return fmt.Sprintf("%#08x", uint32(c))
		}
	}
	return string(b[:])
}

// MarshalText returns String, which is what a codec is in JSON.
func (c FourCC) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
