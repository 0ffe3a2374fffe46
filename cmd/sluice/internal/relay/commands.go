package relay

import (
	"errors"
	"net/netip"
	"path"
	"slices"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/command"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
)

// commandToken is how long the token of a command holds, which it needs to begin.
const commandToken = 24 * time.Hour

// commandFor returns the command of a stream whose settings are c. Its environment has the
// stream's addresses on this machine; at is where the server listens. Variables are there that have
// nothing to say: the server's own may have these names, as settings.
func commandFor(stream string, c *config.Config, at map[string]string) command.Command {
	words, err := config.CommandWords(c.OnPublish)
	if err != nil || len(words) == 0 { // the settings were checked
		return command.Command{}
	}
	token := ""
	if slices.Contains(c.Protect, "play") {
		token = "?token=" + access.Sign([]byte(c.TokenSecret), access.Play, stream, time.Now().Add(commandToken))
	}
	env := []string{"SLUICE_STREAM=" + stream, "SLUICE_APP=" + path.Dir(stream), "SLUICE_NAME=" + path.Base(stream)}
	address, web, rtmp := "", "", ""
	for _, setting := range []string{"https", "rtsps", "rtmps", "rtsp", "http", "rtmp"} { // the last that is open is the best
		open := reached(c, setting, at)
		if open == "" {
			continue
		}
		base, ending := setting+"://"+open, ""
		switch setting {
		case "http":
			web, ending = base, ".flv"
		case "https":
			ending = ".flv"
		case "rtmp":
			rtmp = base
		}
		address = base + "/" + stream + ending + token
	}
	return command.Command{Words: words, Env: append(env, "SLUICE_HTTP="+web, "SLUICE_RTMP="+rtmp, "SLUICE_URL="+address)}
}

// reached is where this machine reaches the listener of a setting, "" when it cannot: the listener is
// off, or takes this machine for a proxy, from which it wants the PROXY protocol.
func reached(c *config.Config, setting string, at map[string]string) string {
	if at[setting] == "" {
		return ""
	}
	address := here(at[setting])
	if !slices.Contains(c.ProxyProtocol, setting) {
		return address
	}
	networks, err := trusted(c)
	a, parseErr := netip.ParseAddrPort(address)
	var proxies listen.Proxies
	if errors.Join(err, parseErr) != nil || proxies.Update(networks) != nil || proxies.Trusts(a.Addr()) {
		return ""
	}
	return address
}

// here is where this machine reaches a listener.
func here(address string) string {
	a, err := netip.ParseAddrPort(address)
	if err != nil || !a.Addr().IsUnspecified() {
		return address
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), a.Port()).String()
}
