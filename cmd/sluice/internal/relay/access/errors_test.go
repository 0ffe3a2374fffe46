package access

import (
	"fmt"
	"io"
	"testing"
)

func TestStatusAndReasonOfOtherErrors(t *testing.T) {
	if Status(nil) != 200 || Reason(nil) != "" {
		t.Errorf("nil: %d %q", Status(nil), Reason(nil))
	}
	if err := io.ErrClosedPipe; Status(err) != 500 || Reason(err) != "refused" {
		t.Errorf("%d %q", Status(err), Reason(err))
	}
	if err := fmt.Errorf("session: %w", ErrTokenExpired); Status(err) != 401 {
		t.Errorf("%d", Status(err))
	}
}
