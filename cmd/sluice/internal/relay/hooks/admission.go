package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
)

const (
	// DefaultTimeout bounds one whole hook call: the wait for a free slot,
	// the connection and the answer.
	DefaultTimeout = 3 * time.Second
	// DefaultConcurrency is how many hook calls run at once; others wait.
	DefaultConcurrency = 64
	// shareOf is which part of them may be for one address.
	shareOf = 4

	mostRequest = 16 << 10 // bytes of JSON, which contains data that peers sent
	mostAnswer  = 4 << 10  // bytes of an answer's body that are read
	mostReason  = 200      // bytes of a reason that is sent to peers and logged
)

// request is the JSON that is sent to the hook.
type request struct {
	Action   access.Action `json:"action"`
	Stream   string        `json:"stream"`
	Address  string        `json:"address"` // IP:port, or IP when a proxy gave no port; empty when unknown
	Protocol string        `json:"protocol"`
	Query    string        `json:"query"` // a=b&c=d
	Agent    string        `json:"agent"`
}

// AdmissionOptions configure an Admission. The zero value is valid.
type AdmissionOptions struct {
	Timeout     time.Duration // of one whole call; 0 is DefaultTimeout
	Concurrency int           // calls at once; 0 is DefaultConcurrency
	// Done, if it is not nil, is called after each call, with its duration and its
	// result: admitted, refused or failed.
	Done func(took time.Duration, result string)
}

// An Admission asks another server whether to admit a request: it is an
// access.Asker. It is safe for concurrent use.
type Admission struct {
	url     string
	timeout time.Duration
	turns   chan struct{}
	shares  shares
	client  *http.Client
	done    func(time.Duration, string)
}

// NewAdmission returns a hook at a URL. Every request is sent there by POST as
// JSON: {action, stream, address, protocol, query, agent}. A status of 2xx admits;
// any other refuses, with the first line of the body of a 4xx as the reason.
// Redirects are refusals, and proxies of the environment are not used.
func NewAdmission(address string, o AdmissionOptions) (*Admission, error) {
	if err := checkURL(address); err != nil {
		return nil, err
	}
	timeout, concurrency := o.Timeout, o.Concurrency
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	if concurrency <= 0 {
		concurrency = DefaultConcurrency
	}
	return &Admission{
		url:     address,
		timeout: timeout,
		turns:   make(chan struct{}, concurrency),
		shares:  shares{most: max(concurrency/shareOf, 1), of: map[netip.Prefix]*share{}},
		client:  newClient(timeout, concurrency),
		done:    o.Done,
	}, nil
}

// Close closes the idle connections. Ask works after it.
func (h *Admission) Close() { h.client.CloseIdleConnections() }

// Ask implements access.Asker.
func (h *Admission) Ask(ctx context.Context, r *access.Request) error {
	began := time.Now()
	err := h.ask(ctx, r)
	if h.done == nil {
		return err
	}
	result := "admitted"
	if err != nil {
		result = "failed"
		if no := access.Refused(""); errors.As(err, &no) {
			result = "refused"
		}
	}
	h.done(time.Since(began), result)
	return err
}

func (h *Admission) ask(ctx context.Context, r *access.Request) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	q := request{Action: r.Action, Stream: r.Stream, Protocol: r.Protocol, Query: r.Query.Encode(), Agent: r.Agent}
	switch {
	case !r.Address.IsValid():
	case r.Address.Port() == 0:
		q.Address = r.Address.Addr().String()
	default:
		q.Address = r.Address.String()
	}
	body, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if len(body) > mostRequest {
		return access.Refused("the request is too long")
	}
	leave, err := h.shares.enter(ctx, r.Address.Addr())
	if err != nil {
		return fmt.Errorf("%d hooks are running for this address: %w", h.shares.most, err)
	}
	defer leave()
	select {
	case h.turns <- struct{}{}:
		defer func() { <-h.turns }()
	case <-ctx.Done():
		return fmt.Errorf("%d hooks are running: %w", cap(h.turns), ctx.Err())
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set("User-Agent", "sluice")
	// Sent again, by net/http, when the server has closed a connection that it kept, as this question was on its way. No
	// such header is sent.
	post.Header["Idempotency-Key"] = nil
	answer, err := h.client.Do(post)
	if err != nil {
		return withoutURL(err)
	}
	defer func() { _ = answer.Body.Close() }()
	// A short answer is read to its end, so that the connection can be reused.
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	switch {
	case answer.StatusCode/100 == 2:
		return nil
	case answer.StatusCode >= 500:
		return fmt.Errorf("the hook answers %d", answer.StatusCode)
	case err == nil && answer.StatusCode/100 == 4:
		if reason := firstLine(text); reason != "" {
			return access.Refused(reason)
		}
	}
	return access.Refused(fmt.Sprintf("refused by the hook with %d", answer.StatusCode))
}

// firstLine returns the first line of text, limited to characters that are safe
// to show.
func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte{'\n'})
	var s strings.Builder
	for _, r := range string(line) {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			r = ' '
		}
		if s.Len()+utf8.RuneLen(r) > mostReason {
			break
		}
		s.WriteRune(r)
	}
	return strings.TrimSpace(s.String())
}
