package config

// Operation is for the person who runs the server.
type Operation struct {
	PProf     string // address on the loopback interface
	LogLevel  string
	LogFormat string
}

func (g *Operation) settings() []Setting {
	return []Setting{
		{Name: "pprof", Usage: "`address` on the loopback interface for Go's profiles",
			value: text(&g.PProf), fits: loopback(&g.PProf)},
		{Name: "log-level", Default: "info", Live: true, Usage: "log what has this `level` or a higher one: debug, info, warn, error",
			value: text(&g.LogLevel), fits: oneOf(&g.LogLevel, "debug", "info", "warn", "error")},
		{Name: "log-format", Default: "text", Usage: "`format` of the log, which goes to standard error: text or json",
			value: text(&g.LogFormat), fits: oneOf(&g.LogFormat, "text", "json")},
	}
}
