package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// answerIn is how long a server may take beside the time that it was asked to
// measure.
const answerIn = 20 * time.Second

// FromURL takes the evidence from a running server that has net/http/pprof: base is
// the address of /debug/pprof/ or of the server ("http://host:6060", or
// "host:6060"). Strace and perf look at the process o.PID when there is one. What was said of
// Collect about errors and ctx holds here too.
func FromURL(ctx context.Context, base string, o Options) (Evidence, error) {
	e := Evidence{Workload: base, Tools: []Tool{}}
	tools, err := chosen(o.Tools)
	if err != nil {
		return e, err
	}
	u, err := pprofURL(base)
	if err != nil {
		return e, err
	}
	e.Workload = u.Redacted()
	if err := ctx.Err(); err != nil {
		return e, err
	}
	dir, err := os.MkdirTemp(o.Dir, dirPrefix)
	if err != nil {
		return e, fmt.Errorf("evidence: %w", err)
	}
	defer os.RemoveAll(dir)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // what comes is packed already, and is unpacked with a bound
	defer transport.CloseIdleConnections()
	s := &server{client: &http.Client{Transport: transport}, base: u, o: o, dir: dir, each: o.each(), e: &e}
	err = useTools(ctx, &e, tools, o.Progress, s.use)
	return e, err
}

// CheckURL returns an error for an address that FromURL cannot take. It sends no request.
func CheckURL(base string) error {
	_, err := pprofURL(base)
	return err
}

// pprofURL is the address of /debug/pprof, without a slash at its end.
func pprofURL(base string) (*url.URL, error) {
	text := base
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		// The text of this error may hold a password.
		return nil, errors.New("evidence: the URL of a server cannot be parsed")
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("evidence: %s is no address of a server: http://host:port/debug/pprof/ is", u.Redacted())
	}
	u.Path = strings.TrimRight(u.Path, "/")
	if !strings.HasSuffix(u.Path, "/debug/pprof") {
		u.Path += "/debug/pprof"
	}
	u.RawPath, u.Fragment = "", ""
	return u, nil
}

// A server is one that is asked for its profiles.
type server struct {
	client *http.Client
	base   *url.URL
	o      Options
	dir    string
	each   time.Duration
	e      *Evidence
}

func (s *server) use(ctx context.Context, tool string) (note string, err error) {
	switch tool {
	case ToolCPU:
		p, err := s.profile(ctx, "profile")
		if err != nil {
			return "", err
		}
		if p.DurationNanos > 0 {
			s.e.Took = time.Duration(p.DurationNanos)
		}
		s.e.CPU, err = cpuProfile(p)
		return "", err
	case ToolAllocs:
		p, err := s.profile(ctx, "allocs")
		if err != nil {
			return "", err
		}
		s.e.Space, s.e.Allocs, err = allocProfiles(p, nil)
		return "", err
	case ToolLocks:
		return s.locks(ctx)
	case ToolTrace:
		return s.trace(ctx)
	case ToolStrace:
		if s.o.PID <= 0 {
			return "", missing("needs the number of the process")
		}
		s.e.Calls, err = straceOf(ctx, s.o.PID, s.dir, s.each, nil)
		return readAsFar(s.e.Calls != nil, err)
	case ToolPerfStat:
		if s.o.PID <= 0 {
			return "", missing("needs the number of the process")
		}
		p, err := perfStatOf(ctx, s.o.PID, s.dir, s.each)
		if err != nil {
			return "", err
		}
		s.e.counted(p)
		return unsupported(p), nil
	case ToolPerfRecord:
		if s.o.PID <= 0 {
			return "", missing("needs the number of the process")
		}
		p, err := perfRecordOf(ctx, s.o.PID, s.dir, s.each, s.e.countsCycles())
		if p != nil {
			s.e.perf().Profile = p
		}
		return readAsFar(p != nil, err)
	default:
		return "", missing("only a scenario can be run with other numbers of processors")
	}
}

// locks asks for what waits were during the same time, by both profiles.
func (s *server) locks(ctx context.Context) (note string, err error) {
	type answer struct {
		p   *profile.Profile
		err error
	}
	mutexes := make(chan answer, 1)
	go func() {
		p, err := s.profile(ctx, "mutex")
		mutexes <- answer{p, err}
	}()
	block, blockErr := s.profile(ctx, "block")
	mutex := <-mutexes
	if err := errors.Join(mutex.err, blockErr); err != nil {
		return "", err
	}
	if s.e.Mutex, err = waitProfile(mutex.p); err != nil {
		return "", err
	}
	if s.e.Block, err = waitProfile(block); err != nil {
		return "", err
	}
	var empty []string
	if s.e.Mutex.Total == 0 {
		empty = append(empty, "no waits at locks: a server records them after runtime.SetMutexProfileFraction")
	}
	if s.e.Block.Total == 0 {
		empty = append(empty, "no other waits: it does after runtime.SetBlockProfileRate")
	}
	return strings.Join(empty, "; "), nil
}

func (s *server) trace(ctx context.Context) (note string, err error) {
	err = s.get(ctx, "trace", min(s.each, traceFor), func(body io.Reader) error {
		s.e.Trace, err = readTrace(body)
		note, err = readAsFar(s.e.Trace != nil, err)
		return err
	})
	return note, err
}

func (s *server) profile(ctx context.Context, name string) (p *profile.Profile, err error) {
	err = s.get(ctx, name, s.each, func(body io.Reader) error {
		p, err = readPprof(body)
		return err
	})
	return p, err
}

// get asks for a profile over a time, in whole seconds, and hands the body to read.
func (s *server) get(ctx context.Context, name string, d time.Duration, read func(io.Reader) error) error {
	seconds := max(1, int(math.Ceil(d.Seconds())))
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+answerIn)
	defer cancel()
	u := *s.base
	u.Path += "/" + name
	query := u.Query()
	query.Set("seconds", strconv.Itoa(seconds))
	u.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return fmt.Errorf("evidence: asking for the profile %s: %w", name, err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return fmt.Errorf("evidence: %w", err) // it names the address, without the password
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(response.Body, 200))
		return fmt.Errorf("evidence: %s answers %s: %s", u.Redacted(), response.Status, strings.Join(strings.Fields(string(said)), " "))
	}
	return read(response.Body)
}
