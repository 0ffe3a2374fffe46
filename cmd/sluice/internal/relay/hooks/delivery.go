package hooks

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
)

const (
	// mostEvents is how many events a delivery has at most.
	mostEvents = 100
	// SignatureHeader has the time and the signature of a delivery:
	// t=SECONDS,v1=HEX, with Unix seconds, and the HMAC-SHA256 (RFC 2104) under the
	// secret of SECONDS, a full stop and the body.
	SignatureHeader = "Sluice-Signature"
	// saveEvery is how often the position is written down while events are delivered, and within
	// which it is after the last.
	saveEvery = time.Second
)

// deliver delivers events until ctx is done, or, after Close, until all are
// delivered or a delivery fails.
func (e *Events) deliver(ctx context.Context) {
	var pause time.Duration
	place := savedPlace{events: e, latest: time.Now()}
	for ctx.Err() == nil {
		lines, behind, err := e.spool.next(mostEvents)
		if n := e.spool.damaged; n > 0 {
			e.log.Error("lines in the spool of events are damaged, and left out", "lines", n)
			e.spool.damaged = 0
		}
		if err == nil && len(lines) == 0 {
			select {
			case <-e.spooled:
			case <-place.due():
				place.save()
			case <-ctx.Done():
			case <-e.ending:
				if e.writer.Wait(); e.isEmpty() {
					return
				}
			}
			continue
		}
		if err == nil {
			err = e.post(ctx, lines)
		}
		if err == nil {
			if pause > 0 {
				e.log.Info("events are delivered again")
			}
			pause = 0
			e.spool.ack(len(lines), behind)
			place.moved()
			continue
		}
		if pause == 0 {
			e.log.Warn("events are not delivered; they will be later", "error", err)
		}
		place.save() // the receiver may be away for hours
		pause = min(max(2*pause, e.options.Retry), e.options.RetryMost)
		if !e.wait(ctx, pause) {
			return
		}
	}
}

// A savedPlace is when the position was written down, and whether it has changed since: it is
// written again soon after, also when no event follows.
type savedPlace struct {
	events  *Events
	latest  time.Time
	changed bool
}

// moved says that the position has changed.
func (p *savedPlace) moved() {
	p.changed = true
	if time.Since(p.latest) >= saveEvery {
		p.save()
	}
}

// due has a value when the position is to be written down; nil: it is.
func (p *savedPlace) due() <-chan time.Time {
	if !p.changed {
		return nil
	}
	return time.After(saveEvery - time.Since(p.latest))
}

// save writes the position down, if it has changed.
func (p *savedPlace) save() {
	if !p.changed {
		return
	}
	p.latest, p.changed = time.Now(), false
	if err := p.events.spool.save(); err != nil {
		p.events.log.Error("where events are delivered up to is not saved: they may come again", "error", err)
	}
}

func (e *Events) isEmpty() bool {
	_, lines := e.spool.size()
	return lines == 0
}

// wait waits until the next attempt, and reports whether there is one: after Close
// there is not.
func (e *Events) wait(ctx context.Context, pause time.Duration) bool {
	// Servers that lost the same receiver do not come back all at once.
	return waiting.ForEither(pause-rand.N(pause/4+1), e.ending, ctx.Done())
}

// post delivers lines of JSON in one request.
func (e *Events) post(ctx context.Context, lines [][]byte) error {
	began := time.Now()
	err := e.send(ctx, lines)
	e.metrics.delivered(time.Since(began), len(lines), err)
	return err
}

func (e *Events) send(ctx context.Context, lines [][]byte) error {
	ctx, cancel := context.WithTimeout(ctx, e.options.Timeout)
	defer cancel()
	body := append([]byte(`{"events":[`), bytes.Join(lines, []byte(","))...)
	body = append(body, "]}\n"...)
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, e.options.URL, bytes.NewReader(body))
	if err != nil {
		return withoutURL(err)
	}
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set("User-Agent", "sluice")
	if len(e.options.Secret) > 0 {
		post.Header.Set(SignatureHeader, Signature(e.options.Secret, time.Now(), body))
	}
	answer, err := e.client.Do(post)
	if err != nil {
		return withoutURL(err)
	}
	defer answer.Body.Close()
	// A short answer is read to its end, so that the connection can be reused.
	_, _ = io.CopyN(io.Discard, answer.Body, mostAnswer)
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the receiver answers %d", answer.StatusCode)
	}
	return nil
}

// Signature returns the value of SignatureHeader for a body, borrowed until it
// returns.
func Signature(secret []byte, now time.Time, body []byte) string {
	t := strconv.FormatInt(now.Unix(), 10)
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(t + "."))
	h.Write(body)
	return "t=" + t + ",v1=" + hex.EncodeToString(h.Sum(nil))
}
