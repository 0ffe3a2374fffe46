package relay

import (
	"net/netip"
	"path"
	"slices"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/command"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

// commandToken is how long the token of a command holds, which it needs to begin.
const commandToken = 24 * time.Hour

// commandFor returns the command of a stream whose settings are c. Its environment has the
// stream's addresses on this machine; at is where the server listens.
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
	address := ""
	if web := at["http"]; web != "" {
		env = append(env, "SLUICE_HTTP=http://"+here(web))
		address = "http://" + here(web) + "/" + stream + ".flv" + token
	}
	if rtmp := at["rtmp"]; rtmp != "" {
		env = append(env, "SLUICE_RTMP=rtmp://"+here(rtmp))
		address = "rtmp://" + here(rtmp) + "/" + stream + token
	}
	return command.Command{Words: words, Env: append(env, "SLUICE_URL="+address)}
}

// here is where this machine reaches a listener.
func here(address string) string {
	a, err := netip.ParseAddrPort(address)
	if err != nil || !a.Addr().IsUnspecified() {
		return address
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), a.Port()).String()
}
