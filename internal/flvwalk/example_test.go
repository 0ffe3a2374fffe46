package flvwalk_test

import (
	"fmt"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/flvwalk"
)

func Example() {
	file := flvwalk.AppendHeader(nil, flvwalk.HasVideo)
	file = flvwalk.AppendTag(file, flvwalk.Tag{Type: flvwalk.Video, Time: 40, Data: []byte("a picture")})

	r := sluice.NewBufReaderBytes(file)
	defer r.Recycle()
	tag, err := flvwalk.New(r).Next()
	fmt.Println(tag.Type, tag.Time, string(tag.Data), err)
	// Output: 9 40 a picture <nil>
}
