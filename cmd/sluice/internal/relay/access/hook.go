package access

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// DefaultHookTimeout bounds one whole hook call: the wait for a free slot,
	// the connection and the answer.
	DefaultHookTimeout = 3 * time.Second
	// DefaultHookConcurrency is how many hook calls run at once; others wait.
	DefaultHookConcurrency = 64

	mostHookRequest = 16 << 10 // bytes of JSON, which contains data that peers sent
	mostHookAnswer  = 4 << 10  // bytes of an answer's body that are read
	mostReason      = 200      // bytes of a reason that is sent to peers and logged
)

// hookRequest is the JSON that is sent to the hook.
type hookRequest struct {
	Action   Action `json:"action"`
	Stream   string `json:"stream"`
	Address  string `json:"address"` // IP:port, or IP when a proxy gave no port; empty when unknown
	Protocol string `json:"protocol"`
	Query    string `json:"query"` // a=b&c=d
	Agent    string `json:"agent"`
}

// hook asks another server whether to admit a request.
type hook struct {
	url     string
	timeout time.Duration
	turns   chan struct{}
	client  *http.Client
}

func newHook(address string, timeout time.Duration, concurrency int) (*hook, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("access: hook: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("access: hook: %s is no URL such as http://127.0.0.1:9000/hook", u.Redacted())
	}
	if timeout <= 0 {
		timeout = DefaultHookTimeout
	}
	if concurrency <= 0 {
		concurrency = DefaultHookConcurrency
	}
	return &hook{
		url:     address,
		timeout: timeout,
		turns:   make(chan struct{}, concurrency),
		client: &http.Client{
			// A redirect would send data about the peer to a server that the
			// configuration does not name.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				DialContext:            (&net.Dialer{Timeout: timeout}).DialContext,
				MaxIdleConnsPerHost:    concurrency,
				IdleConnTimeout:        30 * time.Second,
				MaxResponseHeaderBytes: 16 << 10,
				DisableCompression:     true,
			},
		},
	}, nil
}

// refused is a refusal by the hook, with its reason.
type refused string

func (r refused) Error() string { return string(r) }

// ask returns nil when the hook admits r, refused when the hook refuses it, and
// another error when there is no usable answer.
func (h *hook) ask(ctx context.Context, r *Request) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	q := hookRequest{Action: r.Action, Stream: r.Stream, Protocol: r.Protocol, Query: r.Query.Encode(), Agent: r.Agent}
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
	if len(body) > mostHookRequest {
		return refused("the request is too long")
	}
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
	answer, err := h.client.Do(post)
	if err != nil {
		return withoutURL(err)
	}
	defer func() { _ = answer.Body.Close() }()
	// A short answer is read to its end, so that the connection can be reused.
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostHookAnswer))
	switch {
	case answer.StatusCode/100 == 2:
		return nil
	case answer.StatusCode >= 500:
		return fmt.Errorf("the hook answers %d", answer.StatusCode)
	case err == nil && answer.StatusCode/100 == 4:
		if reason := firstLine(text); reason != "" {
			return refused(reason)
		}
	}
	return refused(fmt.Sprintf("refused by the hook with %d", answer.StatusCode))
}

// withoutURL removes the hook's URL, which may contain a password.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
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
