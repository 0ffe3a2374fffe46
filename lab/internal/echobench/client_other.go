//go:build !linux

package echobench

import (
	"net/netip"
	"time"
)

// A Client needs Linux.
type Client struct{}

// NewClient needs Linux.
func NewClient(netip.AddrPort, int, uint64) (*Client, error) { return nil, platform() }

// Connect needs Linux.
func (c *Client) Connect(int) (Result, error) { return Result{}, platform() }

// Closed needs Linux.
func (c *Client) Closed(int) (Result, error) { return Result{}, platform() }

// Paced needs Linux.
func (c *Client) Paced(int, time.Duration) (Result, error) { return Result{}, platform() }

// HangUp needs Linux.
func (c *Client) HangUp() {}

// Close needs Linux.
func (c *Client) Close() {}
