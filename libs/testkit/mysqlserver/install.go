package mysqlserver

import (
	"context"

	"github.com/flotilla-dev/flotilla/libs/testkit/debian"
)

// debianPackages are the server, without a service that would start it on port 3306,
// and the client programs, one of which the setup script of the server runs.
var debianPackages = []string{"mariadb-server-core", "mariadb-client-core"}

// installed installs the Debian package of MariaDB and runs its server.
func installed(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Vendor == MySQL {
		return nil, unavailable{}
	}
	if err := debian.Install(ctx, cfg.Logf, nil, debianPackages...); err != nil {
		return nil, unavailable{err.Error()}
	}
	return localServer(ctx, cfg)
}
