package policy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/bytepool"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/netsim"
	"github.com/sluice-go/sluice/rtmp"
	"github.com/sluice-go/sluice/rtsp"
)

// A reader that was never Reset is not one that was recycled, but the error is for both.
func TestAZeroReaderSaysWhatItNeeds(t *testing.T) {
	_, err := new(sluice.BufReader).ReadByte()
	if !errors.Is(err, sluice.ErrClosed) || !strings.Contains(err.Error(), "before Reset") {
		t.Errorf("the reader says %v", err)
	}
	if err := new(sluice.BufWriter).Flush(); err != nil && (!errors.Is(err, sluice.ErrClosed) || !strings.Contains(err.Error(), "before Reset")) {
		t.Errorf("the writer says %v", err)
	}
}

// What was never made, and nil where something is needed, is a caller's bug. The panic
// names it, at once and not at a later call.
func TestNilAndZeroValuesPanicWithTheirName(t *testing.T) {
	r, w := sluice.NewBufReaderFed(), sluice.NewBufWriter(nil)
	for want, calls := range map[string][]func(){
		"sluice: BufWriter.WriteMemory(nil)": {func() { _ = w.WriteMemory(nil) }},
		"sluice: BufWriter.ReadFrom(nil)":    {func() { _, _ = w.ReadFrom(nil) }},
		"sluice: BufReader.WriteTo(nil)":     {func() { _, _ = r.WriteTo(nil) }},
		"mem: Memory.AppendMemory(nil)":      {func() { mem.NewMemory().AppendMemory(nil) }},
		"mem: Memory.WriteTo(nil)":           {func() { _, _ = mem.NewMemory().WriteTo(nil) }},
		"mem: Allocator.Read(nil)":           {func() { _, _ = mem.Default().Read(nil, 1) }},
		"amf0: Each with a nil function":     {func() { _ = amf0.Each(nil, nil) }},
		"sluice: NewBufReaderFrom without a Reader or a connection": {
			func() { sluice.NewBufReaderFrom(new(bufio.ReadWriter), nil) },
			func() { sluice.NewBufReaderFrom(nil, new(net.TCPConn)) },
		},
		fmt.Sprintf("sluice: NewBufReaderChan(%d), 0 to 134217728 are possible", math.MaxInt):                 {func() { sluice.NewBufReaderChan(math.MaxInt) }},
		fmt.Sprintf("bytepool: NewByteFixPool: cache of %d slices, 0 to 134217728 are possible", math.MaxInt): {func() { bytepool.NewByteFixPool(math.MaxInt, 1, 1) }},
		fmt.Sprintf("bytepool: NewBytePool: size of 0 bytes with a capacity of %d", math.MaxInt):              {func() { bytepool.NewBytePool(0, math.MaxInt) }},
		"aio: Frames without Size":   {func() { _ = new(aio.Frames).Add([]byte("x"), nil) }},
		"aio: Conn.WriteMemory(nil)": {func() { _ = new(aio.Conn[int]).WriteMemory(nil) }},
		"flv: NewDecoder(nil)":       {func() { flv.NewDecoder(nil) }},
		"flv: NewEncoder(nil)":       {func() { flv.NewEncoder(nil) }},
		"flv: Decoder that NewDecoder has not made": {
			func() { _, _ = new(flv.Decoder).Next() },
			func() { _, _ = new(flv.Decoder).ReadHeader() },
			func() { new(flv.Decoder).Offset() },
		},
		"flv: Encoder that NewEncoder has not made": {
			func() { _ = new(flv.Encoder).WriteHeader(flv.Header{}) },
			func() { _ = new(flv.Encoder).WriteTag(flv.Tag{}) },
			func() { _ = new(flv.Encoder).Flush() },
		},
		"rtmp: NewConn without a reader or a writer": {
			func() { rtmp.NewConn(nil, w, rtmp.Options{}) },
			func() { rtmp.NewConn(r, nil, rtmp.Options{}) },
		},
		"rtmp: NewChunkReader(nil)":                          {func() { rtmp.NewChunkReader(nil, rtmp.Limits{}) }},
		"rtmp: NewChunkWriter(nil)":                          {func() { rtmp.NewChunkWriter(nil) }},
		"rtmp: ChunkReader that NewChunkReader has not made": {func() { _, _ = new(rtmp.ChunkReader).ReadMessage() }},
		"rtmp: ChunkWriter that NewChunkWriter has not made": {
			func() { _ = new(rtmp.ChunkWriter).WriteMessage(rtmp.Message{}) },
			func() { _ = new(rtmp.ChunkWriter).SetChunkSize(100) },
		},
		"rtmp: Conn that NewConn has not made": {
			func() { _, _ = new(rtmp.Conn).ReadMessage() },
			func() { _ = new(rtmp.Conn).WriteMessage(rtmp.Message{}) },
			func() { _ = new(rtmp.Conn).ServerHandshake() },
			func() { _ = new(rtmp.Conn).ClientHandshake() },
			func() { _, _ = new(rtmp.Conn).ReadRequest() },
			func() { _ = new(rtmp.Conn).Flush() },
			func() { new(rtmp.Conn).Rest(new(rtmp.Resting)) },
		},
		"rtmp: Conn.Accept without a request":                     {func() { _ = new(rtmp.Conn).Accept(nil) }},
		"rtmp: Conn.Refuse without a request":                     {func() { _ = new(rtmp.Conn).Refuse(nil, "", "") }},
		"rtmp: Conn.End without a request":                        {func() { _ = new(rtmp.Conn).End(nil) }},
		"rtmp: Conn.Wake with a Resting that Rest has not filled": {func() { rtmp.NewConn(r, w, rtmp.Options{}).Wake(new(rtmp.Resting)) }},
		"rtsp: NewReader(nil)":                                    {func() { rtsp.NewReader(nil, rtsp.Limits{}) }},
		"rtsp: Reader that NewReader has not made":                {func() { _, _ = new(rtsp.Reader).Read() }},
		"rtsp: WriteRequest without a writer or a request":        {func() { _ = rtsp.WriteRequest(w, nil) }},
		"rtsp: WriteResponse without a writer or a response":      {func() { _ = rtsp.WriteResponse(nil, new(rtsp.Response)) }},
		"rtsp: WriteInterleaved without a writer":                 {func() { _ = rtsp.WriteInterleaved(nil, 0, mem.Buf{}) }},
		"netsim: a Reader of nil": {
			func() { netsim.NewReader(nil, netsim.Good, 1) },
			func() { netsim.Draw(netsim.Good, 1).Reader(nil, 0) },
		},
		"netsim: NewConn(nil)": {func() { netsim.NewConn(nil, netsim.Options{}) }},
		"netsim: Conn that NewConn and Pipe have not made": {
			func() { _, _ = new(netsim.Conn).Read(nil) },
			func() { _, _ = new(netsim.Conn).Write(nil) },
			func() { _ = new(netsim.Conn).Close() },
			func() { new(netsim.Conn).LocalAddr() },
		},
		"netsim: Reader that NewReader and Table.Reader have not made": {func() { _, _ = new(netsim.Reader).Read(nil) }},
		"live: Hub that NewHub has not made": {
			func() { _, _ = new(live.Hub).Publish("a", live.PublishOptions{}) },
			func() { _, _ = new(live.Hub).Wait(context.Background(), "a") },
		},
		"live: Writer that NewWriter has not made": {func() { _, _ = new(live.Writer).Add(new(net.TCPConn), new(live.Stream), live.ViewerOptions{}) }},
	} {
		for _, call := range calls {
			func() {
				defer func() {
					if got := recover(); got != want {
						t.Errorf("panic %v, want %q", got, want)
					}
				}()
				call()
			}()
		}
	}
}
