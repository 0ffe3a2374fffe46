package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
)

// On reports whether an address is set: it is neither empty nor "off".
func On(address string) bool { return address != "" && address != "off" }

// An outside error is of a value that is not within its setting's limits.
type outside struct{ value, limits string }

func (e *outside) Error() string { return e.value + " is not within " + e.limits }

func between[T int | time.Duration](v *T, low, high T) func() error {
	return func() error {
		if *v < low || *v > high {
			return &outside{fmt.Sprint(*v), fmt.Sprintf("%v to %v", low, high)}
		}
		return nil
	}
}

// sizeBetween is between for a number of bytes.
func sizeBetween[T byteCount](v *T, low, high T) func() error {
	return func() error {
		if *v < low || *v > high {
			return &outside{size(v).String(), fmt.Sprintf("%v to %v", size(&low), size(&high))}
		}
		return nil
	}
}

func zeroOr(v *time.Duration, low, high time.Duration) func() error {
	return func() error {
		if *v != 0 && (*v < low || *v > high) {
			return &outside{v.String(), fmt.Sprintf("%v to %v, and not 0", low, high)}
		}
		return nil
	}
}

// zeroOrSize accepts a number of bytes that is not below low, and 0.
func zeroOrSize[T byteCount](v *T, low T) func() error {
	return func() error {
		if *v != 0 && *v < low {
			return fmt.Errorf("%v is less than %v, and not 0", size(v), size(&low))
		}
		return nil
	}
}

// pushes accepts targets. Their addresses may be secret: the error shows none.
func pushes(v *[]string) func() error {
	return func() error {
		for _, text := range *v {
			pattern, address, ok := strings.Cut(text, "=")
			address = strings.TrimPrefix(address, "enhanced:")
			if !ok || pattern == "" || !strings.HasPrefix(address, "rtmp://") && !strings.HasPrefix(address, "rtmps://") && !strings.HasPrefix(address, "srt://") {
				return fmt.Errorf("%.60q is not followed by = and rtmp://, rtmps:// or srt://", pattern)
			}
		}
		return nil
	}
}

func allOf(v *[]string, names ...string) func() error {
	return func() error {
		for _, name := range *v {
			if !slices.Contains(names, name) {
				return fmt.Errorf("%q is not one of %s", name, strings.Join(names, ", "))
			}
		}
		return nil
	}
}

// address accepts what net.Listen takes, or no address.
func address(v *string) func() error {
	return func() error {
		if !On(*v) {
			return nil
		}
		_, port, err := net.SplitHostPort(*v)
		if err != nil {
			return fmt.Errorf("%q is not an address such as 127.0.0.1:8080 or :8080, or off", *v)
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil {
			return fmt.Errorf("%q: the port is not a number from 0 to 65535", *v)
		} else if n == 0 && strings.Trim(port, "0") != "" {
			return fmt.Errorf("%q: the port is not a number from 0 to 65535", *v)
		}
		return nil
	}
}

// evenAddress accepts an address whose port is even, since something else has the next.
func evenAddress(v *string) func() error {
	return func() error {
		if err := address(v)(); err != nil || !On(*v) {
			return err
		}
		_, port, _ := net.SplitHostPort(*v)
		if n, _ := strconv.Atoi(port); n%2 != 0 {
			return fmt.Errorf("%q: the port has to be even, and the next one free", *v)
		}
		return nil
	}
}

// loopback accepts an address that only this machine can reach.
func loopback(v *string) func() error {
	return func() error {
		if !On(*v) {
			return nil
		}
		if err := address(v)(); err != nil {
			return err
		}
		host, _, _ := net.SplitHostPort(*v)
		if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
			return fmt.Errorf("%q is not on the loopback interface: profiles are for this machine only, such as 127.0.0.1:6060", *v)
		}
		return nil
	}
}

func webURL(v *string, schemes ...string) func() error {
	return func() error {
		if *v == "" {
			return nil
		}
		u, err := url.Parse(*v)
		if err != nil || !slices.Contains(schemes, u.Scheme) || u.Host == "" {
			return fmt.Errorf("%q is not a URL that begins with %s://", *v, strings.Join(schemes, ":// or "))
		}
		if port := u.Port(); port != "" {
			if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
				return fmt.Errorf("%q: the port is not a number from 1 to 65535", *v)
			}
		}
		return nil
	}
}

func webURLs(v *[]string, schemes ...string) func() error {
	return func() error {
		for i := range *v {
			if err := webURL(&(*v)[i], schemes...)(); err != nil {
				return err
			}
		}
		return nil
	}
}

// sources accepts APP/NAME=URL. Package source reads them in full.
func sources(v *[]string) func() error {
	return func() error {
		for _, text := range *v {
			name, address, ok := strings.Cut(text, "=")
			u, err := url.Parse(strings.TrimPrefix(address, "always:"))
			if !ok || !strings.Contains(name, "/") || err != nil || u.Host == "" || !slices.Contains([]string{"rtsp", "rtsps", "srt"}, u.Scheme) {
				return fmt.Errorf("the source of %.60q is not of the form APP/NAME=rtsp://host/path or srt://host:port", name)
			}
		}
		return nil
	}
}

// hosts accepts IP addresses and names, without ports.
func hosts(v *[]string) func() error {
	return func() error {
		for _, text := range *v {
			if _, err := netip.ParseAddr(text); err != nil && (text == "" || strings.ContainsAny(text, ":/ ")) {
				return fmt.Errorf("%q is neither an IP address nor a name; without a port", text)
			}
		}
		return nil
	}
}

// iceServers accepts the URLs of RFC 7064 and RFC 7065.
func iceServers(v *[]string) func() error {
	return func() error {
		for _, text := range *v {
			scheme, rest, _ := strings.Cut(text, ":")
			if !slices.Contains([]string{"stun", "stuns", "turn", "turns"}, scheme) || rest == "" || strings.ContainsAny(text, "<>@ \"\t") {
				return fmt.Errorf("%.60q is not a URL such as stun:HOST or turn:HOST:PORT?transport=tcp, without user and password", text)
			}
		}
		return nil
	}
}

// plain is an error of package access without that name, which says nothing to those who
// wrote a setting.
func plain(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.TrimPrefix(strings.TrimPrefix(err.Error(), "access: "), "allow list: "))
}

func networks(v *[]string) func() error {
	return func() error {
		_, err := access.ParseAllow(strings.Join(*v, ","))
		return plain(err)
	}
}

func origins(v *[]string) func() error {
	return func() error {
		for _, text := range *v {
			if text == "*" || text == "off" {
				if len(*v) > 1 {
					return fmt.Errorf("%q stands alone or not at all", text)
				}
				continue
			}
			u, err := url.Parse(text)
			if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.Scheme+"://"+u.Host != text {
				return fmt.Errorf("%q is not an origin such as https://example.com", text)
			}
		}
		return nil
	}
}

func tokenIDs(v *[]string) func() error {
	return func() error {
		for _, id := range *v {
			if err := access.CheckID(id); err != nil {
				return plain(err)
			}
		}
		return nil
	}
}
