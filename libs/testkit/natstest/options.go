package natstest

import (
	"net/url"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// Aliases of the server's types, so that a module whose tests configure a server only requires the test kit.
type (
	// Options configures a server.
	Options = server.Options
	// ClusterOptions configures a server as a member of a cluster.
	ClusterOptions = server.ClusterOpts
	// User connects with a password.
	User = server.User
	// NkeyUser connects with an NKey.
	NkeyUser = server.NkeyUser
	// Permissions are the permissions of a user.
	Permissions = server.Permissions
	// SubjectPermission lists allowed and denied subjects.
	SubjectPermission = server.SubjectPermission
)

// Routes parses the URLs of the routes of a server to others.
func Routes(urls ...string) []*url.URL { return server.RoutesFromStr(strings.Join(urls, ",")) }
