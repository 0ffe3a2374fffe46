package config

// Elsewhere is where streams go and come from besides their sessions.
type Elsewhere struct {
	Record string // directory
	Origin string // URL
}

func (g *Elsewhere) settings() []Setting {
	return []Setting{
		{Name: "record", Usage: "write what is published to FLV files in this `directory`",
			value: text(&g.Record)},
		{Name: "origin", Usage: "`URL`, rtmp:// or http://, of a server from which streams are fetched when they are watched",
			value: text(&g.Origin), fits: webURL(&g.Origin, "rtmp", "rtmps", "http", "https")},
	}
}
