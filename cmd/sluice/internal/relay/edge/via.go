package edge

import (
	"crypto/rand"
	"crypto/sha256"
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

	// ViaHTTP and ViaRTSP are the protocols in Via headers.
	ViaHTTP = "1.1"
	ViaRTSP = "RTSP/1.0"
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
	return pathOfNames(strings.TrimSuffix(rest, ")"))
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

// Header is p as the value of a Via header of a protocol, such as ViaHTTP.
func (p Path) Header(protocol string) string {
	hops := make([]string, len(p))
	for i, id := range p {
		hops[i] = protocol + " " + id
	}
	return strings.Join(hops, ", ")
}

// alias is a server's name in answers, which go to any client. From its name a client could
// make requests that the server, and the servers that pull from it, refuse as circles.
func alias(id string) string {
	sum := sha256.Sum256([]byte(id))
	return idPrefix + hex.EncodeToString(sum[:8])
}

// A Way is the list of the servers that a stream comes through, the nearest first, by their
// aliases: as in a response's Via header.
type Way Path

// Via returns the way of a stream that the server of this name sends out, and that has come
// to it by w.
func (w Way) Via(id string) Way {
	via := Path{}.add(alias(id))
	for _, id := range w {
		via = via.add(id)
	}
	return Way(via)
}

// Has reports whether the server of this name is on w.
func (w Way) Has(id string) bool { return slices.Contains(w, alias(id)) }

// Header is w as the value of a Via header of a protocol.
func (w Way) Header(protocol string) string { return Path(w).Header(protocol) }

// WayOfHeader reads the way out of the values of Via headers.
func WayOfHeader(via []string) Way { return Way(PathOfHeader(via)) }

// StatusVia is the code of an RTMP status by which a server names to another one, in the
// description, the servers that a stream comes through.
const StatusVia = "Sluice.Stream.Via"

// Names is w as StatusVia has it.
func (w Way) Names() string { return strings.Join(w, " ") }

// pathOfNames reads names with spaces between them.
func pathOfNames(text string) Path {
	var p Path
	for id := range strings.FieldsSeq(text) {
		p = p.add(id)
	}
	return p
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
