package hls

import (
	"net/url"
	"strconv"
	"strings"
)

// An address is the path of a request: the multivariant playlist of a stream,
// /APP/NAME.m3u8, or a file of one of its rows, /APP/NAME/.hls/ROW/FILE, or of its past. No stream has a
// part that begins with a dot in its name, so the second is no stream's.
type address struct {
	stream string // APP/NAME, not checked
	file   string // "": the multivariant playlist
	row    int
	past   bool // of what was recorded: no row
}

const (
	suffix  = ".m3u8"
	folder  = "/.hls/"
	index   = "index.m3u8"
	pastRow = "past" // in place of a row
	// maxRow bounds the rows of a group.
	maxRow = 64
)

// Serves reports whether a path belongs to HLS.
func Serves(path string) bool {
	return strings.Contains(path, folder) || strings.HasSuffix(path, suffix)
}

// Live reports whether a path is that of a playlist or a file of a row: what the players of
// a stream ask for again and again.
func Live(path string) bool {
	a, ok := parseAddress(path)
	return ok && a.file != "" && !a.past
}

// Entry returns the two parts of a stream's name when the path is that of its
// multivariant playlist, with which a viewer begins.
func Entry(path string) (app, name string, ok bool) {
	a, ok := parseAddress(path)
	if !ok || a.file != "" {
		return "", "", false
	}
	app, name, ok = strings.Cut(strings.TrimPrefix(a.stream, "/"), "/")
	return app, name, ok
}

// parseAddress reads a path. Each file has one address.
func parseAddress(path string) (a address, ok bool) {
	name, rest, file := strings.Cut(path, folder)
	if !file {
		a.stream, ok = strings.CutSuffix(path, suffix)
		return a, ok
	}
	row, rest, ok := strings.Cut(rest, "/")
	if ok && row == pastRow && rest != "" && !strings.Contains(rest, "/") {
		return address{stream: name, file: rest, past: true}, true
	}
	n, err := strconv.ParseUint(row, 10, 8)
	if !ok || err != nil || n > maxRow || strconv.FormatUint(n, 10) != row || rest == "" || strings.Contains(rest, "/") {
		return a, false
	}
	return address{stream: name, file: rest, row: int(n)}, true
}

// rowAddress returns the address of a row's playlist, from that of its multivariant
// playlist on.
func rowAddress(stream string, row int) string { return below(stream, strconv.Itoa(row)) }

func below(stream, row string) string {
	name := stream[strings.LastIndexByte(stream, '/')+1:]
	return "./" + url.PathEscape(name) + folder + row + "/" + index
}
