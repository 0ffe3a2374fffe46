package cli

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
)

// healthWithin is how long health waits for an answer.
const healthWithin = 5 * time.Second

func (a App) health() *cobra.Command {
	f := newSettingFlags()
	cmd := &cobra.Command{
		Use:                   "health [flags of serve]",
		DisableFlagsInUseLine: true,
		Short:                 "Ask a relay on this machine whether it takes connections",
		Long: `health asks the relay that runs on this machine with the same flags, environment and
file whether it takes connections: /healthz over HTTP or HTTPS, or else whether RTMP or
RTSP can be connected to, or SRT answers. It is what a container's health check runs:
without flags it takes those of the serve that is the container's first process.

Exit codes: 0 it does; 1 it does not, or is not there; 2 wrong command line or
configuration.`,
		Example: "  sluice health --http :8080",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().NFlag() == 0 {
				cmd.FParseErrWhitelist.UnknownFlags = true // those of serve alone
				if err := cmd.ParseFlags(flagsOfProcess1("/proc")); err != nil {
					return fmt.Errorf("health: process 1: %w", err)
				}
			}
			c, err := f.resolve(cmd.Flags(), os.Getenv)
			if err != nil {
				return fmt.Errorf("health: %w", err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), healthWithin)
			defer cancel()
			says, err := askHealth(ctx, c)
			if err != nil {
				return fail(fmt.Errorf("health: %w", err))
			}
			if _, err := fmt.Fprintln(a.Stdout, says); err != nil {
				return fail(err)
			}
			return nil
		},
	}
	f.addTo(cmd)
	return cmd
}

// flagsOfProcess1 are those of serve when it is process 1, as in a container whose check cannot know
// them: nothing when that is another program.
func flagsOfProcess1(proc string) []string {
	own, err := os.Stat(filepath.Join(proc, "self/exe"))
	if err != nil {
		return nil
	}
	first, err := os.Stat(filepath.Join(proc, "1/exe"))
	if err != nil || !os.SameFile(own, first) {
		return nil
	}
	line, err := os.ReadFile(filepath.Join(proc, "1/cmdline"))
	words := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
	if err != nil || len(words) < 2 || words[1] != "serve" {
		return nil
	}
	return words[2:]
}

// askHealth asks a server with this configuration.
func askHealth(ctx context.Context, c config.Config) (string, error) {
	switch {
	case config.On(c.HTTP):
		return askHealthz(ctx, healthURL("http", c.HTTP), localDial(c, "http"))
	case config.On(c.HTTPS):
		return askHealthz(ctx, healthURL("https", c.HTTPS), localDial(c, "https"))
	}
	for _, address := range []string{c.RTMP, c.RTMPS, c.RTSP, c.RTSPS} {
		if config.On(address) {
			conn, err := dialHere(ctx, "tcp", thisMachine(address))
			if err != nil {
				return "", err
			}
			return "ok", conn.Close()
		}
	}
	if config.On(c.SRT) {
		return askSRT(ctx, thisMachine(c.SRT))
	}
	return "", fmt.Errorf("no listener is on") // Check does not let this be
}

// askSRT asks with the first packet of a caller, which a server answers before it keeps anything of it
// (draft-sharabayko-srt-01, section 4.3.1.1).
func askSRT(ctx context.Context, address string) (string, error) {
	conn, err := dialHere(ctx, "udp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if until, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(until); err != nil {
			return "", err
		}
	}
	call := make([]byte, 64)
	call[0] = 0x80                               // a control packet, whose type is a handshake, 0
	binary.BigEndian.PutUint32(call[16:], 4)     // the version of the first packet
	binary.BigEndian.PutUint16(call[22:], 2)     // messages
	binary.BigEndian.PutUint32(call[28:], 1500)  // the longest packet
	binary.BigEndian.PutUint32(call[32:], 8192)  // and how many on the way
	binary.BigEndian.PutUint32(call[36:], 1)     // induction
	binary.BigEndian.PutUint32(call[40:], 1<<20) // the caller's number
	if _, err := conn.Write(call); err != nil {
		return "", err
	}
	answer := make([]byte, 1500)
	n, err := conn.Read(answer)
	if err != nil {
		return "", err
	}
	if n < len(call) || answer[0] != 0x80 || answer[1] != 0 {
		return "", fmt.Errorf("%s does not speak SRT", address)
	}
	return "ok", nil
}

type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// localDial connects to a listener. Where the server takes this machine for a proxy, and the listener
// wants the PROXY protocol from those, the connection begins with its header.
func localDial(c config.Config, setting string) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialHere(ctx, network, address)
		if err != nil || !slices.Contains(c.ProxyProtocol, setting) {
			return conn, err
		}
		networks, err := access.ParseAllow(strings.Join(c.TrustedProxies, ","))
		var proxies listen.Proxies
		if err == nil {
			err = proxies.Update(networks)
		}
		if err == nil && proxies.Trusts(conn.LocalAddr().(*net.TCPAddr).AddrPort().Addr()) {
			_, err = io.WriteString(conn, listen.OwnHeader)
		}
		if err != nil {
			conn.Close()
			return nil, err
		}
		return conn, nil
	}
}

func askHealthz(ctx context.Context, address string, by dial) (string, error) {
	// The certificate is for the server's public name, and this is the same machine.
	transport := &http.Transport{DialContext: by, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // see above
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 200))
	if err != nil {
		return "", err
	}
	says := strings.TrimSpace(string(text))
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %d: %q", address, resp.StatusCode, says)
	}
	return says, nil
}

const loopback4 = "127.0.0.1"

// healthURL is that of a listener's address. A zone of IPv6 is escaped there (RFC 6874).
func healthURL(scheme, address string) string {
	return (&url.URL{Scheme: scheme, Host: thisMachine(address), Path: "/healthz"}).String()
}

// dialHere connects to what thisMachine returns. Where a machine has no IPv4, or the listener none, its loopback address
// is that of IPv6.
func dialHere(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	port, isHere := strings.CutPrefix(address, loopback4+":")
	if err == nil || !isHere {
		return conn, err
	}
	conn, other := (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(net.IPv6loopback.String(), port))
	if other != nil {
		return nil, err
	}
	return conn, nil
}

// thisMachine is where a listener's address, as a setting has it, is reached from here.
func thisMachine(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = loopback4
	}
	return net.JoinHostPort(host, port)
}
