package listen

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
)

// ErrHeader is a connection from a proxy that does not begin with a header of
// the PROXY protocol.
var ErrHeader = errors.New("listen: no PROXY protocol header")

const (
	// maxV1 is the longest header of version 1, its line end included (PROXY
	// protocol, section 2.1).
	maxV1 = 107
	// maxV2 is the longest accepted rest of a version 2 header: the longest
	// addresses have 216 bytes, and extensions follow them.
	maxV2 = 4 << 10
)

// signature begins a header of version 2 (PROXY protocol, section 2.2).
const signature = "\r\n\r\n\x00\r\nQUIT\n"

// OwnHeader is the header of a connection that a proxy makes for itself, as to ask whether the server
// is well: version 2, command LOCAL.
const OwnHeader = signature + "\x20\x00\x00\x00"

// errUnknown means that a header is valid, but the proxy does not know the
// client's address, or it is of a kind that is not supported.
var errUnknown = errors.New("listen: the proxy does not know its client's address")

// readHeader reads a header of version 1 or 2, and not a byte more. The zero
// address means that the connection is the proxy's own. An error is errUnknown,
// matches ErrHeader, or comes from r.
func readHeader(r io.Reader) (netip.AddrPort, error) {
	// No header is shorter than this.
	first := make([]byte, len(signature), maxV1)
	if _, err := io.ReadFull(r, first); err != nil {
		return netip.AddrPort{}, err
	}
	switch {
	case string(first) == signature:
		return readV2(r)
	case bytes.HasPrefix(first, []byte("PROXY ")):
		return readV1(r, first)
	}
	return netip.AddrPort{}, fmt.Errorf("%w: it begins with %q", ErrHeader, first)
}

func readV1(r io.Reader, line []byte) (netip.AddrPort, error) {
	for !bytes.HasSuffix(line, []byte("\r\n")) {
		if len(line) == maxV1 {
			return netip.AddrPort{}, fmt.Errorf("%w: a line of more than %d bytes", ErrHeader, maxV1)
		}
		// Read byte by byte: what follows the line is the client's.
		next := line[len(line) : len(line)+1]
		if _, err := io.ReadFull(r, next); err != nil {
			return netip.AddrPort{}, err
		}
		line = line[:len(line)+1]
	}
	return parseV1(string(line[:len(line)-2]))
}

// parseV1 parses a line such as "PROXY TCP4 192.0.2.1 192.0.2.2 5000 80".
func parseV1(line string) (netip.AddrPort, error) {
	bad := fmt.Errorf("%w: %q", ErrHeader, line)
	words := strings.Split(line, " ")
	switch {
	case len(words) >= 2 && words[1] == "UNKNOWN":
		return netip.AddrPort{}, errUnknown
	case len(words) != 6 || words[1] != "TCP4" && words[1] != "TCP6":
		return netip.AddrPort{}, bad
	}
	address, err := netip.ParseAddr(words[2])
	if err != nil || address.Zone() != "" || address.Is4() != (words[1] == "TCP4") {
		return netip.AddrPort{}, bad
	}
	port, err := strconv.ParseUint(words[4], 10, 16)
	if err != nil {
		return netip.AddrPort{}, bad
	}
	return netip.AddrPortFrom(address.Unmap(), uint16(port)), nil
}

func readV2(r io.Reader) (netip.AddrPort, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return netip.AddrPort{}, err
	}
	command, family, n := head[0], head[1], int(binary.BigEndian.Uint16(head[2:]))
	if n > maxV2 {
		return netip.AddrPort{}, fmt.Errorf("%w: a header of %d bytes, at most %d are taken", ErrHeader, n, maxV2)
	}
	rest := make([]byte, n)
	if _, err := io.ReadFull(r, rest); err != nil {
		return netip.AddrPort{}, err
	}
	return parseV2(command, family, rest)
}

func parseV2(command, family byte, rest []byte) (netip.AddrPort, error) {
	const local, proxy = 0x20, 0x21
	size := map[byte]int{0x11: 4, 0x21: 16}[family] // TCP over IPv4 and IPv6
	switch {
	case command == local:
		return netip.AddrPort{}, nil
	case command != proxy:
		return netip.AddrPort{}, fmt.Errorf("%w: version and command %#x", ErrHeader, command)
	case size == 0:
		return netip.AddrPort{}, errUnknown // a Unix socket, a datagram
	case len(rest) < 2*size+4:
		return netip.AddrPort{}, fmt.Errorf("%w: addresses in %d bytes", ErrHeader, len(rest))
	}
	address, _ := netip.AddrFromSlice(rest[:size])
	return netip.AddrPortFrom(address.Unmap(), binary.BigEndian.Uint16(rest[2*size:])), nil
}
