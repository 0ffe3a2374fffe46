package rtsp_test

import (
	"fmt"
	"strings"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/rtsp"
)

// A server's side: requests are answered, frames go to whom they concern.
func Example() {
	received := "SETUP rtsp://host/live/x/streamid=0 RTSP/1.0\r\nCSeq: 3\r\n" +
		"Transport: RTP/AVP/TCP;unicast;interleaved=0-1;mode=record\r\n\r\n" +
		"$\x00\x00\x05hello"
	in := sluice.NewBufReader(strings.NewReader(received))
	defer in.Recycle()
	var sent strings.Builder
	out := sluice.NewBufWriter(&sent)
	defer out.Recycle()

	r := rtsp.NewReader(in, rtsp.Limits{})
	for {
		item, err := r.Read()
		if err != nil {
			fmt.Printf("%v\n%q\n", err, sent.String())
			return
		}
		if m := item.Request; m != nil {
			reply := m.Reply(rtsp.StatusOK)
			list, err := rtsp.ParseTransport(m.Header.Get("Transport"))
			if err != nil {
				reply = m.Reply(rtsp.StatusUnsupportedTransport)
			} else {
				reply.Header.Add("Transport", list[0].String())
			}
			if rtsp.WriteResponse(out, reply) != nil || out.Flush() != nil {
				return
			}
		} else if item.Response == nil {
			f := &item.Interleaved
			fmt.Printf("channel %d: %s\n", f.Channel, f.Payload.Bytes())
		}
		item.Release()
	}
	// Output:
	// channel 0: hello
	// EOF
	// "RTSP/1.0 200 OK\r\nCSeq: 3\r\nTransport: RTP/AVP/TCP;unicast;interleaved=0-1;mode=RECORD\r\n\r\n"
}
