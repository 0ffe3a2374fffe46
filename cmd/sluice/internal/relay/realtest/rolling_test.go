//go:build linux

package realtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/sluicetest"
)

// rollingGap is the longest gap in the picture of the page when the nodes of a cluster are
// started again, one after the other.
const rollingGap = 2 * time.Second

// A pageViewer watches live/s as the page does: it connects to its own node again and
// again, follows redirects or asks, waits as player.js does, and asks another node every
// second time when its own is away.
type pageViewer struct {
	address string
	others  []string
	way     string // flv, or ws, which follows no redirects and asks where to connect
	random  *rand.Rand
	away    bool   // the node could not be reached
	other   string // the node that was asked in its place at the latest try

	mu          sync.Mutex
	latest      time.Time     // of the latest picture
	number      int           // of that
	longest     time.Duration // without one
	trail, what string        // what happened since the latest picture, and in the longest gap
	pictures    int
	connections int
	sent        int   // of them to another node
	err         error // a picture is wrong
}

// open connects once. The caller calls close.
func (v *pageViewer) open(ctx context.Context) (src tagSource, close func() error, err error) {
	own := v.address
	if v.other != "" || !v.away {
		v.other = ""
	} else {
		v.other = v.others[v.random.IntN(len(v.others))]
		own = v.other
	}
	address, target := own, "/live/s.flv"
	if v.way == "ws" || v.other != "" {
		if address, target, err = v.where(ctx, own); err != nil {
			return nil, nil, err
		}
	}
	if v.way == "ws" {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, nil, err
		}
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		src, err := playWebSocket(conn, target)
		if err != nil {
			conn.Close()
		}
		return src, func() error { stop(); return conn.Close() }, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+target, nil)
	if err != nil {
		return nil, nil, err
	}
	c := *pageClient
	c.CheckRedirect = func(*http.Request, []*http.Request) error {
		v.note("; sent on after %v", v.since())
		return nil
	}
	resp, err := c.Do(r)
	if err != nil {
		return nil, nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, nil, fmt.Errorf("status %s", resp.Status)
	}
	if resp.Request.URL.Host != v.address {
		v.mu.Lock()
		v.sent++
		v.mu.Unlock()
	}
	return newFLV(resp.Body), resp.Body.Close, nil
}

// where asks a node where to connect.
func (v *pageViewer) where(ctx context.Context, node string) (address, target string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+node+"/live/s.flv?where=1", nil)
	if err != nil {
		return "", "", err
	}
	resp, err := pageClient.Do(r)
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	var answer struct{ URL string }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return "", "", err
	}
	if answer.URL == "" {
		return node, "/live/s.flv", nil
	}
	to, err := url.Parse(answer.URL)
	if err != nil {
		return "", "", err
	}
	v.mu.Lock()
	v.sent++
	v.mu.Unlock()
	return to.Host, to.RequestURI(), nil
}

var pageClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// watch goes on until ctx is done.
func (v *pageViewer) watch(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		played := false
		began := v.since()
		src, end, err := v.open(ctx)
		v.note("; it connects after %v, until %v: %v", began, v.since(), err)
		if err == nil {
			v.mu.Lock()
			v.connections++
			v.mu.Unlock()
			for {
				g, err := src.next()
				if err != nil {
					v.note("; disconnected after %v: %v", v.since(), err)
					break
				}
				if g.Type == tagVideo && g.media() {
					v.take(g)
					played, failures, v.away = true, 0, false
				}
			}
			end()
		}
		if !played {
			v.away = true
		}
		wait := time.Duration((0.75 + 0.5*v.random.Float64()) * float64(500*time.Millisecond<<min(max(failures-1, 0), 5)))
		if played && failures == 0 {
			wait = 250*time.Millisecond + time.Duration(v.random.Int64N(int64(250*time.Millisecond)))
		}
		failures++
		again := time.NewTimer(wait)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
		}
	}
}

// since returns how long ago the latest picture was.
func (v *pageViewer) since() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	return time.Since(v.latest).Round(time.Millisecond)
}

func (v *pageViewer) note(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.trail += fmt.Sprintf(format, args...)
}

func (v *pageViewer) take(g tag) {
	now := time.Now()
	v.mu.Lock()
	defer v.mu.Unlock()
	id, n, ok := parsePicture(g.Data)
	if !ok {
		v.err = fmt.Errorf("picture %d of %c, of %d bytes, is not as it was published", n, id, len(g.Data))
	}
	if gap := now.Sub(v.latest); !v.latest.IsZero() && gap > v.longest {
		v.longest, v.what = gap, fmt.Sprintf("%s; then picture %d of %c, the one before was %d", v.trail, n, id, v.number)
	}
	v.latest, v.number, v.trail = now, n, ""
	v.pictures++
}

// awaitPictures waits until each viewer has n more.
func awaitPictures(t *testing.T, viewers []*pageViewer, n int) {
	t.Helper()
	begin := make([]int, len(viewers))
	for i, v := range viewers {
		v.mu.Lock()
		begin[i] = v.pictures
		v.mu.Unlock()
	}
	eventually(t, lengthened(60*time.Second), func() string {
		lacking := 0
		for i, v := range viewers {
			v.mu.Lock()
			if v.pictures < begin[i]+n {
				lacking++
			}
			v.mu.Unlock()
		}
		if lacking > 0 {
			return fmt.Sprintf("%d of %d viewers get no picture", lacking, len(viewers))
		}
		return ""
	})
}

// Three nodes are ended and started again, one after the other, under viewers of the
// page's kind, as many as SLUICE_TEST_VIEWERS says: they come back by themselves, soon.
func TestRollingRestart(t *testing.T) {
	long(t, "300 viewers take minutes")
	nodes := map[string]*server{}
	addresses := map[string][]string{} // as flags, once they are known
	begin := func(name string) {
		o := flags("--cluster --takeover standby --webrtc off --srt off --rtsp off --max-viewers-per-address 0 --cluster-address 127.0.0.1:0 --node-name " + name)
		o.env = []string{clusterEnv(t)}
		o.flags = append(o.flags, addresses[name]...)
		for other, s := range nodes {
			if other != name {
				o.flags = append(o.flags, "--join", s.Cluster)
			}
		}
		s := serve(t, o)
		nodes[name], addresses[name] = s, []string{"--http", s.HTTP, "--rtmp", s.RTMP, "--cluster-address", s.Cluster}
	}
	names := []string{"a", "b", "c"}
	for i, name := range names {
		begin(name)
		nodes["a"].awaitCluster(t, i+1, "live/s", map[bool]string{true: "a"}[i > 0])
		if name != "c" {
			encode(t, name[0], nodes[name].HTTP)
			nodes[name].awaitLive(t, "live/s")
		}
	}
	number, _ := strconv.Atoi(os.Getenv("SLUICE_TEST_VIEWERS"))
	viewers := watchPages(t, cmp.Or(number, 300), nodes["a"], nodes["b"], nodes["c"])
	awaitPictures(t, viewers, 25)
	for _, name := range names {
		nodes[name].signal(t, syscall.SIGTERM)
		if code := nodes[name].wait(t, lengthened(30*time.Second)); code != 0 {
			t.Errorf("node %s ended with %d", name, code)
		}
		begin(name)
		awaitPictures(t, viewers, 50)
	}
	checkPages(t, viewers)
}

// checkPages checks what viewers got. The limit of gaps holds where there is time for it.
func checkPages(t *testing.T, viewers []*pageViewer) {
	t.Helper()
	longest := map[string]time.Duration{}
	connections, sent := 0, 0
	for i, v := range viewers {
		v.mu.Lock()
		longest[v.way] = max(longest[v.way], v.longest)
		connections += v.connections
		sent += v.sent
		if v.err != nil {
			t.Errorf("viewer %d: %v", i, v.err)
		}
		if os.Getenv("SLUICE_LONG") != "" && v.longest > rollingGap {
			t.Errorf("viewer %d of %s over %s: a gap of %v, the limit is %v%s", i, v.address, v.way, v.longest, rollingGap, v.what)
		}
		v.mu.Unlock()
	}
	t.Logf("%d viewers, %d connections, %d of them sent to another node; longest gaps %v", len(viewers), connections, sent, longest)
}

// watchPages starts viewers, number i on node i, or i less a multiple of how many there are.
// They end with the test.
func watchPages(t *testing.T, number int, nodes ...*server) (viewers []*pageViewer) {
	seed := sluicetest.Seed(t)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	for i := range number {
		v := &pageViewer{address: nodes[i%len(nodes)].HTTP, way: "flv", random: rand.New(rand.NewPCG(seed, uint64(i)))}
		for k := range nodes[1:] {
			v.others = append(v.others, nodes[(i+1+k)%len(nodes)].HTTP)
		}
		if i%10 == 9 {
			v.way = "ws"
		}
		viewers = append(viewers, v)
		running.Go(func() { v.watch(ctx) })
	}
	return viewers
}

// The viewers of a node that is killed, which sends none on, go to another by themselves.
func TestViewersOfAKilledNodeGoElsewhere(t *testing.T) {
	t.Parallel()
	a := standbyNode(t, "a")
	encode(t, 'a', a.HTTP)
	b := standbyNode(t, "b", a)
	c := standbyNode(t, "c", a)
	for _, s := range []*server{b, c} {
		s.awaitCluster(t, 3, "live/s", "a")
	}
	viewers := watchPages(t, 30, a, b, c)
	awaitPictures(t, viewers, 25)
	b.kill()
	awaitPictures(t, viewers, 50)
	checkPages(t, viewers)
}
