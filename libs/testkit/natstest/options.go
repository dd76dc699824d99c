package natstest

import (
	"net/url"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// The server's own types, so that a module whose tests configure a server requires no more than the test kit.
type (
	// Options are all options of a server.
	Options = server.Options
	// ClusterOptions are those of a server among others.
	ClusterOptions = server.ClusterOpts
	// User may connect with a password.
	User = server.User
	// NkeyUser may connect with an NKey.
	NkeyUser = server.NkeyUser
	// Permissions of a user.
	Permissions = server.Permissions
	// SubjectPermission lists subjects that are allowed or denied.
	SubjectPermission = server.SubjectPermission
)

// Routes are the routes of a server to others, by their URLs.
func Routes(urls ...string) []*url.URL { return server.RoutesFromStr(strings.Join(urls, ",")) }
