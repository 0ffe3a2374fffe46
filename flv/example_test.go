package flv_test

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
)

// The key frames of a file.
func Example() {
	r := sluice.NewBufReader(bytes.NewReader(flvclip.File))
	defer r.Recycle()
	d := flv.NewDecoder(r)
	if _, err := d.ReadHeader(); err != nil {
		fmt.Println(err)
		return
	}
	for {
		tag, err := d.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		if tag.Type == flv.TagVideo {
			h, err := flv.ParseVideo(tag.Payload.Bytes())
			if err == nil && h.Key() {
				fmt.Println(h.Codec, "at", tag.Time, "ms")
			}
		}
		tag.Release()
	}
	// Output:
	// avc1 at 0 ms
	// avc1 at 2000 ms
	// avc1 at 4000 ms
	// avc1 at 6000 ms
	// avc1 at 8000 ms
}

// A new file gets the sound of another.
func ExampleEncoder() {
	r := sluice.NewBufReader(bytes.NewReader(flvclip.File))
	defer r.Recycle()
	var file bytes.Buffer
	w := sluice.NewBufWriter(&file)
	defer w.Recycle()

	from, to := flv.NewDecoder(r), flv.NewEncoder(w)
	if _, err := from.ReadHeader(); err != nil {
		fmt.Println(err)
		return
	}
	err := to.WriteHeader(flv.Header{Audio: true})
	for err == nil {
		var tag flv.Tag
		if tag, err = from.Next(); err != nil {
			break
		}
		if tag.Type == flv.TagAudio {
			err = to.WriteTag(tag) // transferred
		} else {
			tag.Release()
		}
	}
	if err == io.EOF {
		err = to.Flush()
	}
	fmt.Println(file.Len(), "bytes", err)
	// Output: 127972 bytes <nil>
}

func ExampleProbe() {
	report, err := flv.Probe(bytes.NewReader(flvclip.File[:100_000]), flv.ProbeOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	report.Script.Metadata = nil // too long for here
	if _, err := report.WriteTo(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// FLV, 100000 bytes, 1.000 s, 800.0 kbit/s
	// video   avc1, 640x360, profile 100, level 30, 29.99 frames/s, 695.1 kbit/s
	//         30 packets, 1 sequence header, from 0.000 s to 0.967 s
	//         1 key frame
	// audio   mp4a, 44100 Hz, 1 channel, 97.2 kbit/s
	//         41 packets, 1 sequence header, from 0.044 s to 0.973 s
	// script  1 tag: onMetaData
	// problem: the file ends inside the tag at byte 99874, of which it has 126 bytes
}
