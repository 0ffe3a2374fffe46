package push

import (
	"bytes"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/rtmp"
)

// Script data of the length that a frame may have at the most is no message any more with what goes before it to a
// target: it is left out, and what follows it goes on.
func TestScriptDataAsLongAsATag(t *testing.T) {
	for _, less := range []int{len(setDataFrame) - 1, len(setDataFrame)} {
		var sent bytes.Buffer
		c := rtmp.NewConn(sluice.NewBufReaderBytes(nil), sluice.NewBufWriter(&sent), rtmp.Options{})
		q := &pushing{target: &Target{enhanced: true}}
		tags := flvtest.Tag{Type: flv.TagScript, Payload: string(make([]byte, flv.MaxPayload-less))}.Append(nil)
		tags = flvtest.Tag{Type: flv.TagAudio, Payload: "\xaf\x01abc"}.Append(tags)
		if err := q.write(c, tags); err != nil {
			t.Fatal(err)
		}
		if long := sent.Len() > 1000; long != (less == len(setDataFrame)) || !bytes.HasSuffix(sent.Bytes(), []byte("\xaf\x01abc")) {
			t.Errorf("with %d bytes less %d are sent", less, sent.Len())
		}
	}
}
