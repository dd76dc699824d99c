package clone

import (
	"context"
	"fmt"
	"strings"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

// inMySQL runs a statement with mysql in the pod of the sample, and returns the result with one line per row.
func inMySQL(ctx context.Context, p *platform.Platform, namespace, database, statement string) (string, error) {
	out, err := p.Kubectl(ctx, statement, "exec", "--stdin", "-n", namespace, "mysql-0", "--", "sh", "-c",
		`MYSQL_PWD="$MYSQL_ROOT_PASSWORD" exec mysql --host=127.0.0.1 --user=root --batch --skip-column-names --database="$1"`, "sh", database)
	return strings.TrimSpace(out), err
}

// loadgens are load generators that run in parallel. The figures of a phase are their sum.
type loadgens []*cluster.Loadgen

func (a loadgens) Reset(ctx context.Context, phase string) ([]load.Figures, error) {
	return a.each(func(one *cluster.Loadgen) ([]load.Figures, error) { return one.Reset(ctx, phase) })
}

func (a loadgens) Phase(ctx context.Context, phase string) ([]load.Figures, error) {
	return a.each(func(one *cluster.Loadgen) ([]load.Figures, error) { return one.Phase(ctx, phase) })
}

func (a loadgens) Figures(ctx context.Context) ([]load.Figures, error) {
	return a.each(func(one *cluster.Loadgen) ([]load.Figures, error) { return one.Figures(ctx) })
}

func (a loadgens) each(request func(*cluster.Loadgen) ([]load.Figures, error)) ([]load.Figures, error) {
	var out []load.Figures
	for i, one := range a {
		figures, err := request(one)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			out = figures
			continue
		}
		if len(figures) != len(out) {
			return nil, fmt.Errorf("load generator %d has figures of %d phases, the first one of %d", i, len(figures), len(out))
		}
		for j := range out {
			if figures[j].Phase != out[j].Phase {
				return nil, fmt.Errorf("load generator %d is in phase %q, the first one in %q", i, figures[j].Phase, out[j].Phase)
			}
			seconds := max(out[j].Seconds, figures[j].Seconds)
			out[j] = load.Sum(out[j].Phase, out[j], figures[j])
			out[j].Seconds = seconds
		}
	}
	return out, nil
}
