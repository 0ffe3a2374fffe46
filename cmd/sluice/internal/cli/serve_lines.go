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

// exampleStream is the stream of the lines to try.
const (
	exampleApp  = "live"
	exampleName = "s"
)

// printLines prints the lines to publish and to watch with, for the addresses
// that the server has, ready to be copied.
func printLines(w io.Writer, c config.Config, at map[string]string) error {
	var b strings.Builder
	var wide bool // a listener accepts connections from other machines
	var where []string
	for _, name := range []string{"rtmp", "rtmps", "http", "https", "rtsp", "rtsps", "webrtc", "srt", "pprof"} {
		if at[name] != "" {
			where = append(where, strings.ToUpper(name)+" "+at[name])
			wide = wide || wildcard(at[name])
		}
	}
	fmt.Fprintf(&b, "sluice serve: %s\n", strings.Join(where, ", "))

	token := func(action string) string {
		if slices.Contains(c.Protect, action) {
			return "?token=TOKEN"
		}
		return ""
	}
	stream := exampleApp + "/" + exampleName
	rtmp := first(at, "rtmp", "rtmps")
	web := first(at, "http", "https")
	rtsp := first(at, "rtsp", "rtsps")
	camera := rtsp + "://" + reach(at[rtsp]) + "/" + stream

	fmt.Fprint(&b, "\nPublish\n")
	if rtmp != "" {
		base := rtmp + "://" + reach(at[rtmp]) + "/" + exampleApp
		fmt.Fprintf(&b, "  ffmpeg   ffmpeg -re -stream_loop -1 -i clip.mp4 -c copy -f flv %s\n", quote(base+"/"+exampleName+token("publish")))
		fmt.Fprintf(&b, "  OBS      Settings, Stream: Service Custom, Server %s, Stream Key %s\n", base, exampleName+token("publish"))
	} else if web != "" {
		fmt.Fprintf(&b, "  ffmpeg   ffmpeg -re -stream_loop -1 -i clip.mp4 -c copy -f flv %s\n", quote(web+"://"+reach(at[web])+"/"+stream+".flv"+token("publish")))
	}
	if web != "" && at["webrtc"] != "" {
		fmt.Fprintf(&b, "  WHIP     OBS, Settings, Stream: Service WHIP, Server %s://%s/%s/whip%s\n", web, reach(at[web]), stream, token("publish"))
	}
	if rtsp != "" {
		fmt.Fprintf(&b, "  RTSP     ffmpeg -re -stream_loop -1 -i clip.mp4 -c copy -f rtsp %s\n", quote(camera+token("publish")))
	}
	srt := "srt://" + reach(at["srt"]) + "?streamid="
	if at["srt"] != "" {
		fmt.Fprintf(&b, "  SRT      ffmpeg -re -stream_loop -1 -i clip.mp4 -c copy -f mpegts %s\n", quote(srt+"publish:"+stream+escaped(token("publish"))))
	}

	fmt.Fprint(&b, "\nWatch\n")
	if rtmp != "" {
		fmt.Fprintf(&b, "  ffplay   ffplay %s\n", quote(rtmp+"://"+reach(at[rtmp])+"/"+stream+token("play")))
	}
	if web != "" {
		base := web + "://" + reach(at[web]) + "/"
		flv := quote(base + stream + ".flv" + token("play"))
		if rtmp == "" {
			fmt.Fprintf(&b, "  ffplay   ffplay %s\n", flv)
		}
		fmt.Fprintf(&b, "  VLC      vlc %s\n", flv)
		fmt.Fprintf(&b, "  browser  %s\n", base)
	} else if rtmp != "" {
		fmt.Fprintf(&b, "  VLC      vlc %s\n", quote(rtmp+"://"+reach(at[rtmp])+"/"+stream+token("play")))
	}
	if web != "" && at["webrtc"] != "" {
		fmt.Fprintf(&b, "  WHEP     %s://%s/%s/whep%s\n", web, reach(at[web]), stream, token("play"))
	}
	if rtsp != "" {
		fmt.Fprintf(&b, "  RTSP     ffplay -rtsp_transport tcp %s\n", quote(camera+token("play")))
	}
	if at["srt"] != "" {
		fmt.Fprintf(&b, "  SRT      ffplay %s\n", quote(srt+"read:"+stream+escaped(token("play"))))
	}
	if next := at["cluster-address"]; next != "" {
		fmt.Fprintf(&b, "\nThe next node: sluice serve --cluster --join %s --node-name NAME\n", reach(next))
	}
	for _, action := range []string{"publish", "play"} {
		if slices.Contains(c.Protect, action) {
			fmt.Fprintf(&b, "\nTo %s needs a token: sluice token --%s %s --expires 24h\n", action, action, stream)
		}
	}
	if other := outward(); wide && other != "" {
		fmt.Fprintf(&b, "\nFrom other machines: %s instead of 127.0.0.1\n", other)
	}
	_, err := io.WriteString(w, b.String())
	return err
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
