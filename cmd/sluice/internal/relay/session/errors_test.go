package session

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	sluice "github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/rtmp"
)

// However it is noticed that a peer has left, the reason is the same.
func TestPeerErrors(t *testing.T) {
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE} {
		if got := PeerError(fmt.Errorf("write: %w", err)); got != ErrPeerGone {
			t.Errorf("%v is %v", err, got)
		}
	}
	if got := PeerError(&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}); got != ErrIdle {
		t.Errorf("a deadline is %v", got)
	}
	if other := errors.New("other"); PeerError(other) != other {
		t.Error("another error is changed")
	}
}

// What is no frame is not said to be one that max-frame refuses.
func TestFrameErrorIsOfFramesAlone(t *testing.T) {
	const limit = 1 << 20
	for typ := range rtmp.MessageType(30) {
		length := limit + 1
		in := rtmp.AppendChunkHeader(nil, 4, typ, 1, 0, length)
		_, err := rtmp.NewChunkReader(sluice.NewBufReaderBytes(in), rtmp.Limits{Message: limit, Data: limit}).ReadMessage()
		frame := strings.Contains("audio video data data (AMF3) aggregate", typ.String())
		got := FrameError(err, limit)
		if !errors.Is(got, rtmp.ErrTooLong) || errors.Is(got, ErrFrame) != frame {
			t.Errorf("%v", got)
		}
		if text := fmt.Sprintf("%v of %d bytes, at most ", typ, length); !strings.Contains(got.Error(), text) {
			t.Errorf("%v, want %s", got, text)
		}
	}
}

// A stream that ends while a viewer of it begins is not there: that is no fault of the server.
func TestAStreamThatHasJustEndedIsNotFound(t *testing.T) {
	if status, reason := Refusal(fmt.Errorf("hls: %w", live.ErrClosed)); status != http.StatusNotFound || !strings.Contains(reason, "ended") {
		t.Errorf("%d %q", status, reason)
	}
}
