package session

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/logtest"
)

// A flood of refused viewers has some lines of an address, and the others are counted.
func TestRefusalsInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(logtest.Log)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		h := &Host{Log: slog.New(slog.NewTextHandler(log, nil)), Ctx: ctx}
		h.Register = NewRegister(h.Log)
		refuse := func(address string, err error, n int) {
			for i := range n {
				h.Refused(RoleViewer, Info{Address: fmt.Sprintf("%s:%d", address, i+1), Stream: fmt.Sprint("live/", i)}, err)
			}
		}
		lines := func(part string) int { return strings.Count(log.String(), part) }
		refuse("192.0.2.1", ErrFull, 1)
		refuse("192.0.2.1", ErrNotFound, 40_000+maxOfAddress-1)
		refuse("192.0.2.2", ErrNotFound, maxOfAddress)
		if n := lines("viewer refused"); n != 2*maxOfAddress {
			t.Errorf("%d lines at once:\n%s", n, log)
		}
		time.Sleep(refusalsEvery)
		synctest.Wait()
		if lines("\n") != 2*maxOfAddress+1 || lines(`msg="more of a viewer refused" count=40000 code=not_found`) != 1 {
			t.Errorf("after a while:\n%s", log)
		}
		// Again, and of many addresses.
		before := lines("\n")
		refuse("192.0.2.1", ErrNotFound, 2)
		for i := range 1000 {
			refuse(fmt.Sprintf("198.51.%d.%d", i/250, i%250), ErrNotFound, 1)
		}
		if n := lines("\n") - before; n != maxRefusals {
			t.Errorf("%d lines of many addresses", n)
		}
		cancel()
		synctest.Wait()
		if n := 1002 - maxRefusals; lines(fmt.Sprintf("count=%d code=not_found", n)) != 1 {
			t.Errorf("at the end no count of %d", n)
		}
		if n := h.Register.Totals().Refused[Outcome{RoleViewer, "not_found"}]; n != 40_000+2*maxOfAddress-1+1002 {
			t.Errorf("%d were counted", n)
		}
	})
}
