package config

// Limits bounds what peers may take. 0 is no limit.
type Limits struct {
	MaxStreams           int
	MaxViewers           int
	MaxViewersPerAddress int
}

func (g *Limits) settings() []Setting {
	return []Setting{
		{Name: "max-streams", Default: "1000", Live: true, Usage: "at most `N` streams; 0 for no limit",
			value: number(&g.MaxStreams), fits: between(&g.MaxStreams, 0, 1<<30)},
		{Name: "max-viewers", Default: "20000", Live: true, Usage: "at most `N` viewers; 0 for no limit",
			value: number(&g.MaxViewers), fits: between(&g.MaxViewers, 0, 1<<30)},
		{Name: "max-viewers-per-address", Default: "5000", Live: true, Usage: "at most `N` viewers from one address; 0 for no limit",
			value: number(&g.MaxViewersPerAddress), fits: between(&g.MaxViewersPerAddress, 0, 1<<30)},
	}
}
