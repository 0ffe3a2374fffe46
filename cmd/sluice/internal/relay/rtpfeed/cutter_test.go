package rtpfeed

import (
	"bytes"
	"fmt"
	"testing"
)

// Frames are found wherever writes end.
func TestCutterInEveryChunking(t *testing.T) {
	var stream []byte
	want := ""
	for i, n := range []int{1, 0, 5, 300} {
		stream = append(append(stream, '$', byte(i), byte(n>>8), byte(n)), bytes.Repeat([]byte{byte(i)}, n)...)
		want += fmt.Sprintln(i, n)
	}
	for size := 1; size <= len(stream); size++ {
		var c Cutter
		got := ""
		for at := 0; at < len(stream); at += size {
			c.Cut(stream[at:min(at+size, len(stream))], func(channel byte, packet []byte) bool {
				if !bytes.Equal(packet, bytes.Repeat([]byte{channel}, len(packet))) {
					t.Fatalf("writes of %d: packet of channel %d is %x", size, channel, packet)
				}
				got += fmt.Sprintln(channel, len(packet))
				return true
			})
		}
		if got != want {
			t.Fatalf("writes of %d: %s, want %s", size, got, want)
		}
	}
}
