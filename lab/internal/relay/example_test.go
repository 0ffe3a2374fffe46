package relay_test

import (
	"fmt"

	"github.com/sluice-go/sluice/internal/flvclip"
	"github.com/sluice-go/sluice/lab/internal/relay"
)

// What a publisher will send.
func Example() {
	clip, err := relay.ParseClip(flvclip.File)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(clip.Head), "tags, then", len(clip.Media), "frames, over and over")
	// Output: 3 tags, then 732 frames, over and over
}
