package srtconn

// packetLen is that of a packet of a transport stream.
const packetLen = 188

// continuity numbers the packets of a transport stream: where some were left out, for a peer
// that is too slow, its demuxer would take what comes before them for damaged.
type continuity map[uint16]byte // the latest number, by PID

// number puts the numbers into whole packets, which it changes (ISO/IEC 13818-1, section
// 2.4.3.3): packets without a payload have that of the one before.
func (c continuity) number(b []byte) {
	for ; len(b) >= packetLen; b = b[packetLen:] {
		pid := uint16(b[1]&0x1f)<<8 | uint16(b[2])
		n, known := c[pid]
		switch {
		case !known:
			n = b[3] & 0x0f
		case b[3]&0x10 != 0:
			n = (n + 1) & 0x0f
		}
		c[pid] = n
		b[3] = b[3]&0xf0 | n
	}
}
