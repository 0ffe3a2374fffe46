package socket

import (
	"net/netip"

	"github.com/sluice-go/sluice/internal/sys"
)

func accept(fd int) (int, netip.AddrPort, error) { return sys.Accept(fd) }
