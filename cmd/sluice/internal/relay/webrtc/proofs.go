package webrtc

import (
	"net/netip"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/stun/v4"
)

// Any check with the session's password can make an address the session's, also one that bears another machine's
// as its sender, to which all media would go for as long as the client says something from its own (RFC 8445, section
// 19.5.2, has agents that are not lite prevent that by checks of their own). So media goes to an address that has
// proved to be a client's: by an answer to a check, or by the handshake, if all of that went there.
const (
	// proofEvery is the least time between two checks of an address, which doubles up to proofMost: it may be a
	// machine that knows nothing of this.
	proofEvery, proofMost = 50 * time.Millisecond, 5 * time.Second
)

// proof is what is known of an address of a session that has several.
type proof struct {
	id     [stun.TransactionIDSize]byte
	latest time.Time
	pause  time.Duration
}

// isMedia reports whether a packet, borrowed, is RTP or RTCP (RFC 7983, section 7).
func isMedia(p []byte) bool { return len(p) > 0 && p[0] >= 128 && p[0] <= 191 }

// mayHave reports whether an address of a session may have a packet, media or another, and asks it for its proof. The
// lock is held.
func (q *queued) mayHave(f *queuedFrom, media bool, to netip.AddrPort, now time.Time) bool {
	switch {
	case f.proved:
	case f.session.addresses > 1, f.session.stream.Load():
		q.prove(f, to, now)
		return !media
	case media: // follows the handshake, all of which went here
		f.proved = true
	}
	return true
}

// prove asks the client at an address for its proof, if that is due. The lock is held.
func (q *queued) prove(f *queuedFrom, at netip.AddrPort, now time.Time) {
	if f.proof == nil {
		f.proof = &proof{id: stun.NewTransactionID()}
	}
	if now.Sub(f.proof.latest) < f.proof.pause {
		return
	}
	f.proof.latest, f.proof.pause = now, min(max(2*f.proof.pause, proofEvery), proofMost)
	q.check(f.session, f.proof.id, at)
}

// proves reports whether an answer is a proof, which it notes. The lock is held.
func (q *queued) proves(f *queuedFrom, m *stun.Message) bool {
	if f.proof == nil || m.TransactionID != f.proof.id {
		return false
	}
	if stun.NewShortTermIntegrity(f.session.theirs.password).Check(m) == nil {
		f.proved, f.proof = true, nil
	}
	return true
}

// check sends a check of a session to an address. The lock is held.
func (q *queued) check(h *handshake, id [stun.TransactionIDSize]byte, at netip.AddrPort) {
	check, err := stun.Build(stun.BindingRequest, stun.NewTransactionIDSetter(id), stun.NewUsername(h.theirs.ufrag+":"+h.ours.ufrag),
		ice.PriorityAttr(1), ice.AttrControlled(1), stun.NewShortTermIntegrity(h.theirs.password), stun.Fingerprint)
	if err == nil {
		// One that is lost is followed by others.
		_, _ = q.send(check.Raw, at)
	}
}
