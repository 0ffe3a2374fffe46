package rtsp_test

import (
	"fmt"
	"os"
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
	out := sluice.NewBufWriter(os.Stdout)
	defer out.Recycle()

	r := rtsp.NewReader(in, rtsp.Limits{})
	for {
		item, err := r.Read()
		if err != nil {
			fmt.Println(err)
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
	// RTSP/1.0 200 OK
	// CSeq: 3
	// Transport: RTP/AVP/TCP;unicast;interleaved=0-1;mode=RECORD
	//
	// channel 0: hello
	// EOF
}
