package rtspserver

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/rtsp"
)

// reportEvery is the time between two receiver reports: RFC 3550, section 6.2, has 5 s.
const reportEvery = 5 * time.Second

const (
	// maxArrivals bounds the packets of one publisher that wait: some 700 KB.
	maxArrivals = 512
	// maxWaiting bounds their bytes, maxWaitingAll those of all publishers: more is lost, as on the
	// way, but for publishers of which no more than fairWaiting wait.
	maxWaiting, maxWaitingAll, fairWaiting = 2 << 20, 16 << 20, 128 << 10
)

// open sets a track up.
func (a *arrivals) open(track int, p *ports, peer netip.Addr, pair *rtsp.Pair) error {
	u := &udpTrack{arrivals: a, track: track}
	if err := u.open(p, peer, pair); err != nil {
		return err
	}
	a.tracks[track] = u
	return nil
}

// leave undoes open, if it was called.
func (a *arrivals) leave(track int) {
	if u := a.tracks[track]; u != nil {
		u.close()
		a.tracks[track] = nil
	}
}

// begin makes room for packets, after which they are taken. Before that they are dropped.
func (a *arrivals) begin() {
	a.packets = make(chan arrival, maxArrivals)
	for _, u := range a.tracks {
		if u != nil {
			u.running.Store(true)
		}
	}
}

// failure is why frames could not be published, or nil.
func (a *arrivals) failure() error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.err
}

// end takes no more packets.
func (a *arrivals) end() {
	for _, u := range a.tracks {
		if u != nil {
			u.close()
		}
	}
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
}

// drain publishes what comes over UDP until the session is over, and then what has come
// by that time.
func (a *arrivals) drain() {
	reports := time.NewTicker(reportEvery)
	defer reports.Stop()
	for {
		select {
		case p := <-a.packets:
			a.take(p)
		case now := <-reports.C:
			a.report(now)
		case <-a.recording.over:
			a.rest()
			return
		}
	}
}

// report sends receiver reports.
func (a *arrivals) report(now time.Time) {
	for _, u := range a.tracks {
		if u == nil || !u.rtcp.IsValid() {
			continue
		}
		if p := a.recording.intake.Report(u.track, now); p != nil {
			u.ports.send(1, p, u.rtcp)
		}
	}
}

// take takes a packet, transferred.
func (a *arrivals) take(p arrival) {
	a.left(int64(p.packet.Len()))
	switch {
	case a.failed:
		p.packet.Release()
	case p.report:
		a.recording.intake.Control(p.track, p.packet.Bytes(), p.at)
		p.packet.Release()
	default:
		if err := a.recording.push(p.track, p.packet, p.at); err != nil {
			a.failed = true
			a.fail(err)
		}
	}
}

// rest takes what waits, after which no more comes.
func (a *arrivals) rest() {
	for {
		select {
		case p := <-a.packets:
			a.take(p)
		default:
			return
		}
	}
}

// fail ends the session from the goroutine that publishes.
func (a *arrivals) fail(err error) {
	err = a.recording.frameError(err)
	a.mu.Lock()
	a.err = err
	a.mu.Unlock()
	a.recording.watchdog.Stop(err)
}

func (u *udpTrack) open(p *ports, peer netip.Addr, pair *rtsp.Pair) error {
	u.ports = p
	u.rtp, u.rtcp = netip.AddrPortFrom(peer, uint16(pair.First)), netip.AddrPortFrom(peer, uint16(pair.Last))
	if pair.First == pair.Last {
		u.rtcp = netip.AddrPort{}
	}
	err := p.hear(u.rtp, u)
	if err == nil {
		err = p.hear(u.rtcp, u)
	}
	if err != nil {
		u.close()
	}
	return err
}

func (u *udpTrack) close() {
	u.ports.forget(u.rtp, u)
	u.ports.forget(u.rtcp, u)
}

func (u *udpTrack) hearRTP(p []byte, now time.Time)  { u.hear(p, false, now) }
func (u *udpTrack) hearRTCP(p []byte, now time.Time) { u.hear(p, true, now) }

// hear copies a packet, borrowed, for the goroutine that publishes.
func (u *udpTrack) hear(p []byte, report bool, now time.Time) {
	a := u.arrivals
	if !u.running.Load() || len(p) == 0 {
		return
	}
	a.bytes.Add(int64(len(p)))
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.ended {
		return
	}
	if !a.put(u.track, report, p, now) {
		a.dropped.Add(1)
	}
}

// put has a packet, borrowed, wait, if it may. The lock is held, so that nothing comes after end.
func (a *arrivals) put(track int, report bool, p []byte, now time.Time) bool {
	server := a.recording.peer.server
	n := int64(len(p))
	own, all := a.waiting.Add(n), server.waiting.Add(n)
	if own <= fairWaiting || own <= maxWaiting && all <= maxWaitingAll {
		b, err := server.Alloc.TryGet(len(p))
		if err == nil {
			copy(b.Bytes(), p)
			select {
			case a.packets <- arrival{track, report, b, now}:
				return true
			default:
				b.Release()
			}
		}
	}
	a.left(n)
	return false
}

// left takes note that n bytes wait no more.
func (a *arrivals) left(n int64) {
	a.waiting.Add(-n)
	a.recording.peer.server.waiting.Add(-n)
}

// frameError is the error that a session ends with for an error of the intake.
func (r *recording) frameError(err error) error {
	if errors.Is(err, rtpmedia.ErrTooLong) {
		return fmt.Errorf("%w, which is %d bytes: %w", session.ErrFrame, r.peer.server.Config().MaxFrame, err)
	}
	return err
}
