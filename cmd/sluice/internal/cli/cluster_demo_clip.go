package cli

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/sluice-go/sluice/internal/flvclip"
)

const (
	flvHeader = 9 + 4  // and the size before the first tag
	tagHeader = 11     // before a tag's payload
	scriptTag = 18     // its type
	clipMS    = 10_010 // what is added to times for each round of the clip
)

// publishClip publishes the clip in its own time until the connection or ctx ends.
func publishClip(ctx context.Context, url string) error {
	r, w := io.Pipe()
	defer r.Close()
	go func() { w.CloseWithError(sendClip(ctx, w, flvclip.File)) }()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, r)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	return fmt.Errorf("the node answers %s", resp.Status)
}

// sendClip writes an FLV file round and round, each tag when it is due.
func sendClip(ctx context.Context, w io.Writer, file []byte) error {
	if _, err := w.Write(file[:flvHeader]); err != nil {
		return err
	}
	began := time.Now()
	wait := time.NewTimer(0)
	defer wait.Stop()
	for round := uint32(0); ; round++ {
		for rest := file[flvHeader:]; len(rest) > tagHeader; {
			size := tagHeader + int(binary.BigEndian.Uint32(rest)&0xffffff) + 4
			if len(rest) < size {
				break
			}
			tag := bytes.Clone(rest[:size])
			rest = rest[size:]
			if round > 0 && tag[0] == scriptTag {
				continue
			}
			ms := uint32(tag[4])<<16 | uint32(tag[5])<<8 | uint32(tag[6]) | uint32(tag[7])<<24
			ms += round * clipMS
			tag[4], tag[5], tag[6], tag[7] = byte(ms>>16), byte(ms>>8), byte(ms), byte(ms>>24)
			wait.Reset(time.Until(began.Add(time.Duration(ms) * time.Millisecond)))
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-wait.C:
			}
			if _, err := w.Write(tag); err != nil {
				return err
			}
		}
	}
}
