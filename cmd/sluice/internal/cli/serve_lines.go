package cli

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

// The stream of the lines to try.
const (
	exampleApp    = "live"
	exampleName   = "s"
	exampleStream = exampleApp + "/" + exampleName
)

// printLines prints the lines to publish and to watch with, for the addresses
// that the server has, ready to be copied.
func printLines(w io.Writer, c config.Config, at map[string]string) error {
	l := lines{
		at: at, protect: c.Protect,
		rtmp: first(at, "rtmp", "rtmps"), web: first(at, "http", "https"), rtsp: first(at, "rtsp", "rtsps"),
	}
	wide := l.listening()
	l.publish()
	l.watch()
	l.notes(wide)
	_, err := io.WriteString(w, l.String())
	return err
}

// lines is the text of printLines.
type lines struct {
	strings.Builder
	at              map[string]string // the addresses, by setting
	protect         []string          // the actions that need a token
	rtmp, web, rtsp string            // the schemes of these, "" for those that are not served
}

func (l *lines) add(format string, args ...any) { fmt.Fprintf(l, format, args...) }

// listening is the line of all addresses. It reports whether one of them accepts
// connections from other machines.
func (l *lines) listening() (wide bool) {
	var where []string
	for _, name := range []string{"rtmp", "rtmps", "http", "https", "rtsp", "rtsps", "webrtc", "srt", "pprof"} {
		if l.at[name] != "" {
			where = append(where, strings.ToUpper(name)+" "+l.at[name])
			wide = wide || wildcard(l.at[name])
		}
	}
	l.add("sluice serve: %s\n", strings.Join(where, ", "))
	return wide
}

// url is the address of path at the listener of a scheme.
func (l *lines) url(scheme, path string) string {
	return scheme + "://" + reach(l.at[scheme]) + "/" + path
}

// token is the query that an action needs.
func (l *lines) token(action string) string {
	if slices.Contains(l.protect, action) {
		return "?token=TOKEN"
	}
	return ""
}

// srt is the address of the example stream over SRT.
func (l *lines) srt(mode, action string) string {
	return "srt://" + reach(l.at["srt"]) + "?streamid=" + mode + ":" + exampleStream + escaped(l.token(action))
}

func (l *lines) publish() {
	const send = "ffmpeg -re -stream_loop -1 -i clip.mp4 -c copy -f "
	token := l.token("publish")
	l.add("\nPublish\n")
	if l.rtmp != "" {
		l.add("  ffmpeg   "+send+"flv %s\n", quote(l.url(l.rtmp, exampleStream+token)))
		l.add("  OBS      Settings, Stream: Service Custom, Server %s, Stream Key %s\n", l.url(l.rtmp, exampleApp), exampleName+token)
	} else if l.web != "" {
		l.add("  ffmpeg   "+send+"flv %s\n", quote(l.url(l.web, exampleStream+".flv"+token)))
	}
	if l.web != "" && l.at["webrtc"] != "" {
		l.add("  WHIP     OBS, Settings, Stream: Service WHIP, Server %s\n", l.url(l.web, exampleStream+"/whip"+token))
	}
	if l.rtsp != "" {
		l.add("  RTSP     "+send+"rtsp %s\n", quote(l.url(l.rtsp, exampleStream+token)))
	}
	if l.at["srt"] != "" {
		l.add("  SRT      "+send+"mpegts %s\n", quote(l.srt("publish", "publish")))
	}
}

func (l *lines) watch() {
	token := l.token("play")
	l.add("\nWatch\n")
	if l.rtmp != "" {
		l.add("  ffplay   ffplay %s\n", quote(l.url(l.rtmp, exampleStream+token)))
	}
	if l.web != "" {
		flv := quote(l.url(l.web, exampleStream+".flv"+token))
		if l.rtmp == "" {
			l.add("  ffplay   ffplay %s\n", flv)
		}
		l.add("  VLC      vlc %s\n", flv)
		l.add("  browser  %s\n", l.url(l.web, ""))
	} else if l.rtmp != "" {
		l.add("  VLC      vlc %s\n", quote(l.url(l.rtmp, exampleStream+token)))
	}
	if l.web != "" && l.at["webrtc"] != "" {
		l.add("  WHEP     %s\n", l.url(l.web, exampleStream+"/whep"+token))
	}
	if l.rtsp != "" {
		l.add("  RTSP     ffplay -rtsp_transport tcp %s\n", quote(l.url(l.rtsp, exampleStream+token)))
	}
	if l.at["srt"] != "" {
		l.add("  SRT      ffplay %s\n", quote(l.srt("read", "play")))
	}
}

// notes are what else there is to know: how a node joins, tokens are made, and other
// machines reach the server.
func (l *lines) notes(wide bool) {
	if next := l.at["cluster-address"]; next != "" {
		l.add("\nThe next node: sluice serve --cluster --join %s --node-name NAME\n", reach(next))
	}
	for _, action := range []string{"publish", "play"} {
		if slices.Contains(l.protect, action) {
			l.add("\nTo %s needs a token: sluice token --%s %s --expires 24h\n", action, action, exampleStream)
		}
	}
	if other := outward(); wide && other != "" {
		l.add("\nFrom other machines: %s instead of 127.0.0.1\n", other)
	}
}

// escaped is a query as it stands inside another.
func escaped(query string) string {
	return strings.ReplaceAll(strings.ReplaceAll(query, "?", "%3F"), "=", "%3D")
}

// first returns the address of the first listener in names that exists.
func first(at map[string]string, names ...string) string {
	for _, name := range names {
		if at[name] != "" {
			return name
		}
	}
	return ""
}

// wildcard reports whether an address is that of all interfaces.
func wildcard(address string) bool {
	a, err := netip.ParseAddrPort(address)
	return err == nil && a.Addr().IsUnspecified()
}

// reach returns the form of a listening address that clients on this machine can
// connect to.
func reach(address string) string {
	a, err := netip.ParseAddrPort(address)
	if err != nil || !a.Addr().IsUnspecified() {
		return address
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), a.Port()).String()
}

// outward returns an address that other machines may use to reach this one, or
// "".
func outward() string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	return ""
}

// quote puts a URL between quotes when it has characters that a shell would
// interpret.
func quote(url string) string {
	if strings.ContainsAny(url, "?&") {
		return "'" + url + "'"
	}
	return url
}
