package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/query"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// deletePage is the number of rows that one transaction closes.
const deletePage = 200

// Delete implements storage.MetadataStorage.
func (s *Storage) Delete(ctx context.Context, typeMeta *metav1.TypeMeta, namespace, name string) error {
	kind, err := s.kindNamed(typeMeta)
	if err != nil {
		return err
	}
	if namespace == "" || name == "" {
		return invalid("delete %s: namespace %q and name %q must both be given", kind.Name, namespace, name)
	}
	live, err := rows.Page(ctx, s.db, kind, rows.Query{State: rows.Open, Namespaces: []string{namespace}, Names: []string{name}})
	if err != nil {
		return err
	}
	if _, err := s.direct.CloseChosen(ctx, kind, uidsOf(live), everyRow); err != nil {
		return fmt.Errorf("delete %s %s/%s: %w", kind.Name, namespace, name, err)
	}
	return nil
}

func uidsOf(page []rows.Row) []string {
	out := make([]string, 0, len(page))
	for _, r := range page {
		out = append(out, r.UID)
	}
	return out
}

// everyRow implements writer.Choice: it selects all rows.
func everyRow(_ context.Context, _ *sql.Tx, locked []rows.Row) ([]string, error) {
	return uidsOf(locked), nil
}

// DeleteCollection implements storage.MetadataStorage.
func (s *Storage) DeleteCollection(ctx context.Context, typeMeta *metav1.TypeMeta, namespace string, deleteOptions *metav1.DeleteOptions, listOptions *metav1.ListOptions) error {
	kind, err := s.kindNamed(typeMeta)
	if err != nil {
		return err
	}
	plan, err := query.Compile(query.Request{Kind: kind, Namespace: namespace, Options: listOptions})
	if err != nil {
		return err
	}
	dry, err := checkDelete(deleteOptions)
	if err != nil {
		return err
	}
	ctx, cancel := withTimeout(ctx, listOptions)
	defer cancel()
	if err := s.choose(ctx, plan); err != nil {
		return fmt.Errorf("delete collection of %s: %w", kind.Name, err)
	}
	c := &collection{s: s, kind: kind, plan: plan, options: deleteOptions, dry: dry}
	if err := c.run(ctx); err != nil {
		return fmt.Errorf("delete collection of %s: %w", kind.Name, err)
	}
	return nil
}

// checkDelete validates the options. Rows close at once and have no dependents, so that every
// grace period and propagation policy is met.
func checkDelete(o *metav1.DeleteOptions) (dry bool, err error) {
	if o == nil {
		return false, nil
	}
	switch {
	case len(o.DryRun) == 0:
	case len(o.DryRun) == 1 && o.DryRun[0] == metav1.DryRunAll:
		dry = true
	default:
		return false, invalid("dryRun must be empty or [%q], got %q", metav1.DryRunAll, o.DryRun)
	}
	if o.GracePeriodSeconds != nil && *o.GracePeriodSeconds < 0 {
		return false, invalid("gracePeriodSeconds %d is negative", *o.GracePeriodSeconds)
	}
	return dry, nil
}

// collection closes the rows that a plan finds, page by page.
type collection struct {
	s       *Storage
	kind    *registry.Kind
	plan    *query.Plan
	options *metav1.DeleteOptions
	dry     bool
}

func (c *collection) run(ctx context.Context) error {
	for closed := int64(0); ; {
		size := int64(deletePage)
		if limit := c.plan.Limit(); limit > 0 {
			size = min(size, limit-closed)
		}
		page, last, err := c.readPage(ctx, size)
		if err != nil || len(page) == 0 {
			return err
		}
		n, err := c.close(ctx, page)
		if err != nil {
			return err
		}
		closed += int64(n)
		if int64(len(page)) < size || c.plan.Limit() > 0 && closed >= c.plan.Limit() {
			return nil
		}
		c.plan.After(last)
	}
}

// readPage reads the next rows that the plan finds.
func (c *collection) readPage(ctx context.Context, size int64) (page []rows.Row, last []any, err error) {
	var r rows.Row
	dest := []any{&r.UID, &r.Namespace, &r.Name, &r.Incarnation, &r.ResVersion}
	err = c.s.each(ctx, c.plan.Rows(size), c.plan.Sorted(), dest, func(sorted []any) error {
		page, last = append(page, r), sorted
		return nil
	})
	return page, last, err
}

// close closes the rows of a page and returns their number.
func (c *collection) close(ctx context.Context, page []rows.Row) (int, error) {
	if c.dry {
		return len(page), c.check(page)
	}
	return c.s.direct.CloseChosen(ctx, c.kind, uidsOf(page), c.choose)
}

// choose queries again, with the rows locked: some may no longer match the selector.
func (c *collection) choose(ctx context.Context, tx *sql.Tx, locked []rows.Row) ([]string, error) {
	statement := c.plan.Matching(uidsOf(locked))
	matching := map[string]bool{}
	err := database.EachRow(ctx, tx, statement.SQL, statement.Args, func(r *sql.Rows) error {
		var uid string
		if err := r.Scan(&uid); err != nil {
			return err
		}
		matching[uid] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	locked = slices.DeleteFunc(locked, func(r rows.Row) bool { return !matching[r.UID] })
	return uidsOf(locked), c.check(locked)
}

// check checks the preconditions of all rows of a page before any of them is closed.
func (c *collection) check(page []rows.Row) error {
	if c.options == nil || c.options.Preconditions == nil {
		return nil
	}
	p := c.options.Preconditions
	for _, r := range page {
		if p.UID != nil && string(*p.UID) != r.UID {
			return fmt.Errorf("%w: %s/%s has uid %s, want %s", storage.ErrConflict, r.Namespace, r.Name, r.UID, *p.UID)
		}
		if held := strconv.FormatInt(r.ResVersion, 10); p.ResourceVersion != nil && *p.ResourceVersion != held {
			return fmt.Errorf("%w: %s/%s has resourceVersion %s, want %s", storage.ErrConflict, r.Namespace, r.Name, held, *p.ResourceVersion)
		}
	}
	return nil
}
