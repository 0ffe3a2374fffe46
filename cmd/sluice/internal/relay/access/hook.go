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
	// DefaultHookTimeout bounds a hook with everything that belongs to it: the
	// wait for a turn, the connection, the answer.
	DefaultHookTimeout = 3 * time.Second
	// DefaultHookConcurrency is how many hooks run at once; others wait for
	// their turn.
	DefaultHookConcurrency = 64

	mostHookRequest = 16 << 10 // bytes of JSON: what peers sent is in it
	mostHookAnswer  = 4 << 10  // bytes of an answer's body that are read
	mostReason      = 200      // bytes of a reason that peers and logs are shown
)

// hookRequest is the JSON that a hook is sent.
type hookRequest struct {
	Action   Action `json:"action"`
	Stream   string `json:"stream"`
	Address  string `json:"address"` // IP:port, or IP where a proxy told no port; empty when it is not known
	Protocol string `json:"protocol"`
	Query    string `json:"query"` // a=b&c=d
	Agent    string `json:"agent"`
}

// hook asks another server.
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
			// A redirect would send what is known of the peer to a place that the
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

// refused is a hook's no, with its reason.
type refused string

func (r refused) Error() string { return string(r) }

// ask returns nil when the hook admits r, refused when it does not, and another
// error when it does not say.
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
	// A short answer is read to its end, which keeps the connection.
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

// withoutURL drops the hook's address, which may have a password in it and
// which the log knows anyway.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// firstLine is the first line of text as far as it can be shown to anybody.
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
