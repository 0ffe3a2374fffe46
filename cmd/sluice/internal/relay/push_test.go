package relay

import (
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/push"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/internal/testcert"
	"github.com/sluice-go/sluice/rtmp"
)

// pushing makes a server push to targets, with short pauses.
func pushing(t *testing.T, log *relayLog, targets ...string) func(*Server) {
	t.Helper()
	o := push.Options{Retry: 10 * time.Millisecond, RetryMost: 100 * time.Millisecond, Timeout: relayWait, TLS: testcert.Client(t)}
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	var list []*push.Target
	for _, text := range targets {
		target, err := push.ParseTarget(text, func(string) string { return "hunter2" })
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, target)
	}
	o.Targets = func(string) []*push.Target { return list }
	return func(s *Server) {
		o.Streams, o.Agent, o.Itself = s.host.Hub.Streams, s.pushAgent, s.takesSRT
		p := push.New(o)
		s.host.Pusher, s.web.Pushes = p, p
	}
}

// pushStates are the states of a server's pushes.
func pushStates(s *Server) string {
	var states []string
	for _, status := range s.web.Pushes.List() {
		states = append(states, status.State)
	}
	slices.Sort(states)
	return strings.Join(states, " ")
}

// What is published here is what a viewer gets there, frame by frame, over RTMP and
// RTMPS, while another target is away and a third one takes nothing. A target that
// comes back has the stream again.
func TestPush(t *testing.T) {
	far := rtmpServe(t, func(c *relayConfig) { c.Grace = time.Minute })
	away := loopback.Free(t)
	stuck, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	go stuckServer(stuck)
	log := &relayLog{}
	near := rtmpServeWith(t, nil, pushing(t, log,
		"live/*=rtmp://"+far.Addresses()["rtmp"]+"/live/plain-*",
		"live/*=rtmps://"+far.Addresses()["rtmps"]+"/live/secure-*",
		"live/*=rtmp://"+away+"/live/${KEY}",
		"live/*=rtmp://"+stuck.Addr().String()+"/live/*",
		"other/*=rtmp://"+away+"/live/*",
	))
	viewers := map[string]*rtmpClient{}
	p := rtmpPush(t, near, "rtmp", "live", "s")
	if err := p.send(rtmpClip()[:3]); err != nil { // metadata and headers
		t.Fatal(err)
	}
	rtmpUntil(t, "two targets have it", func() bool { return far.host.Register.Number(session.RolePublisher) == 2 })
	for _, name := range []string{"plain-s", "secure-s"} {
		v := rtmpDial(t, far, "rtmp", "live")
		if err := v.c.Play(name); err != nil {
			t.Fatal(err)
		}
		viewers[name] = v
		rtmpUntil(t, "it watches", func() bool { return rtmpViewers(far, "live/"+name) == 1 })
	}
	// In pieces that are awaited: a push does not slow a publisher down, and one that
	// sends a whole file at once may leave it behind.
	clip, got := rtmpClip()[:303], map[string][]rtmpFrame{}
	for n := 3; n < len(clip); n += 20 {
		if err := p.send(clip[n : n+20]); err != nil {
			t.Fatal(err)
		}
		for name, v := range viewers {
			frames, _, err := v.receive(n + 20 - len(got[name]))
			if err != nil {
				t.Fatalf("%s: %v after %d frames", name, err, len(got[name]))
			}
			got[name] = append(got[name], frames...)
		}
	}
	for name := range viewers {
		rtmpCompare(t, name, got[name], clip)
	}
	rtmpUntil(t, "the states are known", func() bool { return strings.Count(pushStates(near), "live") >= 2 && len(near.web.Pushes.List()) == 4 })
	for _, status := range near.web.Pushes.List() {
		if strings.Contains(status.Target+status.Error, "hunter2") || strings.Contains(status.Target, away) && (status.State == push.Live || status.Error == "") {
			t.Errorf("%+v", status)
		}
	}
	// A target that ends it gets it again, and so does one that comes.
	for _, c := range far.host.Register.List() {
		if c.Role == session.RolePublisher && c.Stream == "live/plain-s" {
			c.Stop(session.ErrKicked)
		}
	}
	rtmpUntil(t, "it is there again", func() bool {
		n := 0
		for _, c := range far.host.Register.List() {
			if c.Role == session.RolePublisher && (c.ID == "p1" || c.ID == "p2" || c.ID == "p3") {
				n++
			}
		}
		_, last := far.host.Register.Get("p3")
		return n == 2 && last
	})
	back := rtmpServe(t, func(c *relayConfig) { c.RTMP = away })
	rtmpUntil(t, "the target that was away has it", func() bool { return back.host.Register.Number(session.RolePublisher) == 1 })
	rtmpUntil(t, "it has no error any more", func() bool {
		return slices.ContainsFunc(near.web.Pushes.List(), func(q push.Status) bool {
			return strings.Contains(q.Target, away) && q.State == push.Live && q.Error == "" && q.Tries > 1
		})
	})
	log.line(t, "msg=pushing", away)
	p.close()
	rtmpUntil(t, "all has ended", func() bool {
		return len(near.web.Pushes.List()) == 0 && back.host.Register.Number(session.RolePublisher) == 0 && far.host.Register.Number(session.RolePublisher) == 0
	})
	if strings.Contains(log.String(), "hunter2") {
		t.Errorf("the key is in the log:\n%s", log)
	}
}

// stuckServer accepts publishers and then reads nothing.
func stuckServer(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			r, w := sluice.NewBufReader(conn), sluice.NewBufWriter(conn)
			c := rtmp.NewConn(r, w, rtmp.Options{})
			if c.ServerHandshake() == nil {
				if req, err := c.ReadRequest(); err == nil {
					_ = c.Accept(req)
				}
			}
			c.Recycle()
			r.Recycle()
			w.Recycle()
		}()
	}
}

// A target that closes the connection, at whatever step, is tried again: its end is
// not the stream's.
func TestPushToATargetThatHangsUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	steps := make(chan int, 100)
	go func() {
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			hangUp(conn, n%4)
			steps <- n
		}
	}()
	near := rtmpServeWith(t, nil, pushing(t, &relayLog{}, "live/s=rtmp://"+l.Addr().String()+"/live/x"))
	p := rtmpPush(t, near, "rtmp", "live", "s")
	if err := p.send(rtmpClip()[:20]); err != nil {
		t.Fatal(err)
	}
	for n := range 8 {
		select {
		case <-steps:
		case <-time.After(rtmpTimeout):
			t.Fatalf("%d attempts: %+v", n, near.web.Pushes.List())
		}
	}
}

// hangUp talks to a publisher up to a step, and closes the connection.
func hangUp(conn net.Conn, step int) {
	r, w := sluice.NewBufReader(conn), sluice.NewBufWriter(conn)
	c := rtmp.NewConn(r, w, rtmp.Options{})
	if step > 0 && c.ServerHandshake() == nil && step > 1 {
		if req, err := c.ReadRequest(); err == nil && step > 2 {
			_ = c.Accept(req)
		}
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.CloseWrite() // an end, not a reset
	}
	conn.Close()
	c.Recycle()
	r.Recycle()
	w.Recycle()
}

// A target that refuses is tried again, and the API says why, without the key.
func TestPushThatIsRefused(t *testing.T) {
	far := rtmpServe(t, func(c *relayConfig) {
		c.Protect, c.TokenSecret = []string{"publish"}, "a secret that is long enough"
	})
	log := &relayLog{}
	near := rtmpServeWith(t, nil, pushing(t, log, "live/s=rtmp://"+far.Addresses()["rtmp"]+"/live/x?token=${KEY}"))
	p := rtmpPush(t, near, "rtmp", "live", "s")
	if err := p.send(rtmpClip()[:20]); err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "it is refused twice", func() bool {
		list := near.web.Pushes.List()
		return len(list) == 1 && list[0].Tries > 2 && strings.Contains(list[0].Error, "token is not valid")
	})
	api := &relayServer{Server: near, http: near.Addresses()["http"]}
	if status, text := api.get(t, "/api/pushes"); status != 200 || !strings.Contains(text, "/live/...") || strings.Contains(text, "hunter2") || strings.Contains(log.String(), "hunter2") {
		t.Errorf("%d %s\n%s", status, text, log)
	}
	near.Close()
	if list := near.web.Pushes.List(); len(list) != 0 {
		t.Errorf("after the end: %+v", list)
	}
}
