package clone

import (
	"context"
	"strings"

	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

// inMySQL runs a statement with mysql in the pod of the sample, and returns the result with one line per row.
func inMySQL(ctx context.Context, p *platform.Platform, namespace, database, statement string) (string, error) {
	out, err := p.Kubectl(ctx, statement, "exec", "--stdin", "-n", namespace, "mysql-0", "--", "sh", "-c",
		`MYSQL_PWD="$MYSQL_ROOT_PASSWORD" exec mysql --host=127.0.0.1 --user=root --batch --skip-column-names --database="$1"`, "sh", database)
	return strings.TrimSpace(out), err
}
