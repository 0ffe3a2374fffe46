package config

import "time"

// Elsewhere configures where streams go, and origins, where they come
// from.
type Elsewhere struct {
	Origin      []string // URLs of servers that have the same streams
	OriginRetry time.Duration
	Source      []string // APP/NAME=URL of cameras and other servers of RTSP and SRT
	Push        []string // PATTERN=URL
	OnPublish   string   // command line
	MaxCommands int
}

func (g *Elsewhere) settings() []Setting {
	return []Setting{
		{Name: "origin", Usage: "`URLs`, rtmp:// or http://, of servers from which streams are fetched when they are watched; the first that has one gives it",
			value: list(&g.Origin), fits: webURLs(&g.Origin, "rtmp", "rtmps", "http", "https")},
		{Name: "origin-retry", Default: "1m0s", Usage: "viewers of a stream that an origin no longer sends stay this `time`, while it is asked again",
			value: duration(&g.OriginRetry), fits: between(&g.OriginRetry, time.Second, 24*time.Hour)},
		{Name: "source", Usage: "`APP/NAME=URLs`, rtsp://, rtsps:// or srt://, from which a stream is pulled while it is watched; with always: before the URL, also when it is not",
			value: list(&g.Source), fits: sources(&g.Source)},
		{Name: "push", Live: true, Scoped: true, Usage: "push streams to other servers: `PATTERN=URL` such as live/*=rtmp://host/app/* or live/*=srt://host:port?streamid=publish:*; ${NAME} in it is from the environment; enhanced: before the URL for a target that takes HEVC and AV1",
			value: list(&g.Push), fits: pushes(&g.Push)},
		{Name: "on-publish", Live: true, Scoped: true, Usage: "run this `command` while a stream is published, with SLUICE_URL and SLUICE_STREAM in its environment; no shell is between, ${NAME} is replaced",
			value: text(&g.OnPublish), fits: commandLine(&g.OnPublish)},
		{Name: "max-commands", Default: "16", Live: true, Usage: "at most `N` such commands at a time; others wait",
			value: number(&g.MaxCommands), fits: between(&g.MaxCommands, 1, 1<<16)},
	}
}
