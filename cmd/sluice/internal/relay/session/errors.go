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
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/contain"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/rtmp"
)

// Reasons to refuse a session, besides those of the gate. Each protocol has its
// own form for them: see Refusal.
var (
	ErrBadRequest = errors.New("bad request") // an invalid name or option
	ErrNotFound   = errors.New("there is no such stream")
	ErrBusy       = errors.New("the stream already has a publisher")
	ErrClosing    = errors.New("the server is shutting down")
	ErrFull       = errors.New("the server is full") // no memory for another publisher
	ErrOrigin     = errors.New("pages of this origin may not use this server")
	ErrLength     = errors.New("FLV is sent chunked or with a length")
	ErrCoding     = errors.New("a compressed body is not understood")
	ErrLoop       = errors.New("this server has pushed the stream itself, and gets it back")
	// ErrElsewhere: another server of the cluster publishes the stream.
	ErrElsewhere = errors.New("another server of the cluster publishes this stream")
)

// Reasons why a session has ended.
var (
	ErrKicked    = errors.New("kicked")
	ErrPeerGone  = errors.New("the peer closed the connection")
	ErrEndOfBody = errors.New("the publisher said that it was done")
	ErrDone      = errors.New("the viewer said that it was done")
	ErrIdle      = errors.New("nothing came in time")
	ErrTooSlow   = errors.New("slower than the minimum rate")
	ErrFrame     = errors.New("a frame is longer than the setting max-frame allows")
	// ErrUpgrade is an ErrClosing.
	ErrUpgrade = fmt.Errorf("%w for an upgrade that cannot keep this session", ErrClosing)
)

// Silent is ErrIdle of a publisher, with the limit.
func Silent(limit time.Duration) error {
	return fmt.Errorf("%w: the setting publish-timeout is %v", ErrIdle, limit)
}

// TooSlow is ErrTooSlow with the limit, in bytes a second over a window.
func TooSlow(least int, window time.Duration) error {
	return fmt.Errorf("%w: the setting min-publish-rate is %d bytes a second, over %v", ErrTooSlow, least, window)
}

// FrameError converts a protocol's error for a frame above limit bytes into
// ErrFrame with the limit, and returns other errors unchanged: those of RTMP for its commands and
// control messages, which have limits of their own, among them.
func FrameError(err error, limit int) error {
	var message *rtmp.LengthError
	if errors.As(err, &message) {
		switch message.Type {
		case rtmp.TypeAudio, rtmp.TypeVideo, rtmp.TypeAggregate, rtmp.TypeDataAMF0, rtmp.TypeDataAMF3:
		default:
			return err
		}
	}
	for _, long := range []error{rtmp.ErrTooLong, flv.ErrTooLong, live.ErrFrame} {
		if errors.Is(err, long) {
			return fmt.Errorf("%w, which is %d bytes: %w", ErrFrame, limit, err)
		}
	}
	return err
}

// Refusal returns what is sent to the peer for an error of AdmitPublish,
// AdmitPlay, StreamName or ParsePlayOptions: an HTTP status and one line.
func Refusal(err error) (status int, reason string) {
	for _, c := range []struct {
		err    error
		status int
	}{
		{ErrBadRequest, http.StatusBadRequest},
		{ErrNotFound, http.StatusNotFound},
		{ErrBusy, http.StatusConflict},
		{ErrElsewhere, http.StatusConflict},
		{ErrLoop, http.StatusConflict},
		{ErrClosing, http.StatusServiceUnavailable},
		{ErrFull, http.StatusServiceUnavailable},
		{ErrOrigin, http.StatusForbidden},
		{ErrLength, http.StatusLengthRequired},
		{ErrCoding, http.StatusUnsupportedMediaType},
	} {
		if errors.Is(err, c.err) {
			return c.status, err.Error()
		}
	}
	if errors.Is(err, live.ErrClosed) { // a stream that was there when it was asked for
		return http.StatusNotFound, ErrNotFound.Error() + ": it has just ended"
	}
	return access.Status(err), access.Reason(err)
}

// PeerError converts a read error of a connection into one of this package.
func PeerError(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, io.ErrClosedPipe), // of a write by SRT that comes before its end is read
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return ErrPeerGone
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ErrIdle
	}
	return err
}

// Words returns the reason why a session ended, as text for people.
func Words(err error) string {
	if err == nil {
		return "done"
	}
	return strings.TrimPrefix(err.Error(), "live: ")
}

// codes are the names of errors in metrics. The first match is used.
var codes = []struct {
	err  error
	code string
}{
	{ErrBadRequest, "bad_request"},
	{ErrNotFound, "not_found"},
	{ErrBusy, "busy"},
	{ErrElsewhere, "elsewhere"},
	{ErrLoop, "loop"},
	{ErrUpgrade, "upgrade"},
	{ErrClosing, "shutdown"},
	{ErrOrigin, "origin"},
	{ErrLength, "bad_request"},
	{ErrCoding, "bad_request"},
	{ErrKicked, "kicked"},
	{ErrPeerGone, "peer_closed"},
	{live.ErrGone, "peer_closed"},
	{ErrEndOfBody, "done"},
	{ErrDone, "done"},
	{live.ErrEnded, "done"},
	{au.ErrChanged, "changed"},
	{ErrIdle, "idle"},
	{ErrTooSlow, "min_rate"},
	{live.ErrTakenOver, "taken_over"},
	{live.ErrOverfull, "memory"},
	{live.ErrClosed, "shutdown"},
	{live.ErrStalled, "stalled"},
	{live.ErrSlow, "slow"},
	{live.ErrMemory, "memory"},
	{ErrFull, "memory"},
	{ErrFrame, "frame"},
	{contain.ErrFault, "fault"},
	{access.ErrBanned, "banned"},
	{access.ErrAddress, "address"},
	{access.ErrTokenMissing, "token"},
	{access.ErrTokenWrong, "token"},
	{access.ErrTokenExpired, "token"},
	{access.ErrTokenRevoked, "token"},
	{access.ErrDenied, "hook"},
	{access.ErrLimit, "limit"},
	{access.ErrHook, "hook_failed"},
}

// Code returns the code of a reason, for programs: one of a fixed list, "error"
// for other errors and "done" for nil.
func Code(err error) string {
	if err == nil {
		return "done"
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return "error"
}
