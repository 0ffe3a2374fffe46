package tsmedia

// strides are how far packets are apart, in bytes: nothing between them, the four bytes of a time before each
// (M2TS, of Blu-ray and cameras), and sixteen of parity behind each (DVB).
var strides = [...]int{packetLen, packetLen + 4, packetLen + 16}

// next returns the next packet, borrowed until more is received; nil when more has to come. Behind what is no
// packet one counts that has others behind it: its first byte may stand anywhere.
func (g *guard) next() []byte {
	for {
		k := min(g.between, len(g.in)-g.at)
		g.at, g.between = g.at+k, g.between-k
		rest := g.in[g.at:]
		if len(rest) < packetLen || g.garbage > maxGarbage {
			return nil
		}
		if rest[0] != syncByte {
			g.stride = 0
		}
		if g.stride == 0 {
			g.stride = g.strideOf(rest)
		}
		switch {
		case g.stride > 0:
			g.garbage = 0
			g.at, g.between = g.at+packetLen, g.stride-packetLen
			return rest[:packetLen]
		case rest[0] == syncByte && len(rest) <= strides[len(strides)-1]:
			return nil // it may have
		}
		g.at++
		g.garbage++
	}
}

// strideOf returns how far packets are apart that p begins with; 0 when it does not begin with any, or that is
// not known yet. At the end of what comes one is enough.
func (g *guard) strideOf(p []byte) int {
	if p[0] != syncByte {
		return 0
	}
	for _, s := range strides {
		if len(p) > s && p[s] == syncByte && (len(p) <= 2*s || p[2*s] == syncByte) {
			return s
		}
	}
	if g.ended != nil && len(p) < 2*packetLen {
		return packetLen
	}
	return 0
}
