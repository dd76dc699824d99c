// Package nkey dials with the NKey that its file holds at the time of the connect.
package nkey

import (
	"net"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Dialer makes the client present the key that the file holds at the time of the
// connect. The client rereads only the seed, for the signature; the matching public key is
// fixed in its options, which other code cannot change. The client holds the lock on its
// options while it dials, so the dialer can change them.
type Dialer struct {
	net.Dialer
	key func() (string, error)
	nc  atomic.Pointer[nats.Conn] // nil during the first dial, whose key was read just before
}

// NewDialer returns a Dialer; key reads the public key from the file.
func NewDialer(timeout time.Duration, key func() (string, error)) *Dialer {
	return &Dialer{Dialer: net.Dialer{Timeout: timeout}, key: key}
}

// SetConn sets the connection whose key a dial replaces.
func (d *Dialer) SetConn(nc *nats.Conn) { d.nc.Store(nc) }

// Dial reads the key again, then calls [net.Dialer.Dial].
func (d *Dialer) Dial(network, address string) (net.Conn, error) {
	key, err := d.key()
	if err != nil {
		return nil, err
	}
	if nc := d.nc.Load(); nc != nil {
		nc.Opts.Nkey = key
	}
	return d.Dialer.Dial(network, address)
}
