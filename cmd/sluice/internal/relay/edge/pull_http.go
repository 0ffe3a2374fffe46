package edge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvbody"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

// pullHTTP pulls over HTTP until the origin ends it, or deliver does.
func (q *pulling) pullHTTP(ctx context.Context, deliver func(live.Frame) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, q.url(), nil)
	if err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	req.Header.Set("Via", q.asks.Header(ViaHTTP))
	req.Header.Set("User-Agent", player)
	resp, err := q.puller.get(req)
	if err != nil {
		return fmt.Errorf("edge: %w", withoutURL(err))
	}
	defer resp.close()
	q.answers()
	if err := answer(resp.status); err != nil {
		resp.body.Recycle()
		return err
	}
	if err := q.comes(resp.via); err != nil {
		resp.body.Recycle()
		return err
	}
	body := flvbody.New(resp.body, resp.length, q.puller.options.MaxFrame, q.excuse(resp))
	defer body.Close()
	marked := q.puller.options.Locate != nil
	var mark live.Mark
	for {
		t, err := body.Next()
		if err != nil {
			return fmt.Errorf("edge: %w", err)
		}
		if marked && t.Type == flv.TagScript {
			m, ok, err := live.ParseMark(t.Payload.Bytes())
			if ok || err != nil {
				t.Payload.Release()
				if err != nil {
					return fmt.Errorf("edge: %w", err)
				}
				mark = m
				continue
			}
		}
		err = deliver(live.Frame{Type: t.Type, Time: t.Time, Payload: t.Payload, Mark: mark})
		if err != nil {
			return err
		}
		mark = live.Mark{}
	}
}

// excuse returns what flvbody.New takes: a silence of the publisher ends no connection.
func (q *pulling) excuse(resp *response) func(error) error {
	quiet := q.puller.options.Quiet
	if quiet == nil || !resp.again {
		return nil
	}
	return func(err error) error {
		if q.sink != nil && errors.Is(err, os.ErrDeadlineExceeded) && quiet(q.stream, q.from) {
			return nil
		}
		return err
	}
}

// url is the address of the stream at the origin. Another server of the cluster is
// asked for marks, and for what follows the frame that was the latest.
func (q *pulling) url() string {
	if q.puller.options.Locate == nil {
		return q.from.streamURL(q.stream)
	}
	var after live.Mark
	if sink, ok := q.sink.(Resuming); ok {
		after = sink.After()
	}
	return q.from.With(hopQuery(after)).streamURL(q.stream)
}

// answer returns the error for a response's status.
func answer(status int) error {
	switch status {
	case http.StatusOK:
		return nil
	case http.StatusNotFound, http.StatusGone:
		return ErrNotFound
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusLoopDetected:
		return fmt.Errorf("%w: %s", ErrDenied, http.StatusText(status))
	}
	return fmt.Errorf("edge: the origin answers %d %s", status, http.StatusText(status))
}

// withoutURL removes the URL from a client's error, because errors are logged and
// the query may contain a token.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
