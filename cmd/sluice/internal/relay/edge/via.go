package edge

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"
)

// A Path is the list of servers that a request has passed, in order.
type Path []string

const (
	// maxHops is how many servers a stream may be pulled through.
	maxHops = 8
	// maxID is the longest server name that is accepted.
	maxID = 64

	// viaProtocol is the protocol in a Via header: HTTP's version.
	viaProtocol = "1.1"
	// idPrefix distinguishes names of sluice servers from those of proxies.
	idPrefix = "sluice-"
	// player is the name of a pull in RTMP's connect, before the path.
	player = "sluice"
	viaIn  = " (via "
)

// NewID returns a random, unique name for a server.
func NewID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return idPrefix + hex.EncodeToString(b[:])
}

// PathOfHeader reads the path out of the values of Via headers. Names that are
// not those of sluice servers are left out.
func PathOfHeader(via []string) Path {
	var p Path
	for _, value := range via {
		for hop := range strings.SplitSeq(value, ",") {
			if f := strings.Fields(hop); len(f) >= 2 {
				p = p.add(f[1])
			}
		}
	}
	return p
}

// PathOfFlashVer reads the path out of the flashVer of an RTMP connect.
func PathOfFlashVer(flashVer string) Path {
	_, rest, ok := strings.Cut(flashVer, viaIn)
	if !ok {
		return nil
	}
	var p Path
	for _, id := range strings.Fields(strings.TrimSuffix(rest, ")")) {
		p = p.add(id)
	}
	return p
}

// add appends a name that a peer sent. It keeps at most one name more than
// maxHops, which is enough to know that there are too many.
func (p Path) add(id string) Path {
	if len(p) > maxHops || len(id) > maxID || !strings.HasPrefix(id, idPrefix) {
		return p
	}
	return append(p, id)
}

// admits reports whether a server of this name may pull for a request with the
// path p.
func (p Path) admits(id string) bool {
	return len(p) < maxHops && !slices.Contains(p, id)
}

// header is p as the value of a Via header.
func (p Path) header() string {
	hops := make([]string, len(p))
	for i, id := range p {
		hops[i] = viaProtocol + " " + id
	}
	return strings.Join(hops, ", ")
}

// FlashVer is p as RTMP's connect has it, behind the name of a program.
func (p Path) FlashVer(program string) string {
	return program + viaIn + strings.Join(p, " ") + ")"
}

// Comes reports whether the server of this name is on p, and whether as the last only: what
// it sends out itself, and no other server has passed on, nor it before.
func (p Path) Comes(id string) (back, direct bool) {
	at := slices.Index(p, id)
	return at >= 0, at >= 0 && at == len(p)-1
}
