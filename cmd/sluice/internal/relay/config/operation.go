package config

// Operation is for the person who runs the server.
type Operation struct {
	PProf         string // address on the loopback interface
	LogLevel      string
	LogFormat     string
	UpgradeSocket string // path; "" for the one in the runtime directory, "off" for none
}

func (g *Operation) settings() []Setting {
	return []Setting{
		{Name: "pprof", Usage: "`address` on the loopback interface for Go's profiles",
			value: text(&g.PProf), fits: loopback(&g.PProf)},
		{Name: "log-level", Default: "info", Live: true, Usage: "log what has this `level` or a higher one: debug, info, warn, error",
			value: text(&g.LogLevel), Choices: []string{"debug", "info", "warn", "error"}},
		{Name: "log-format", Default: "text", Usage: "`format` of the log, which goes to standard error: text or json",
			value: text(&g.LogFormat), Choices: []string{"text", "json"}},
		{Name: "upgrade-socket", Usage: "`path` of the socket by which serve --upgrade finds this server, in a directory that others cannot write to; unless given, upgrade.sock in $RUNTIME_DIRECTORY if there is one; off for none",
			value: text(&g.UpgradeSocket)},
	}
}
