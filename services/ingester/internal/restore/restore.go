package restore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/cmdutil"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// Tally counts the rows of one kind.
type Tally struct {
	Kind string `json:"kind"`
	// Rows counts the selected rows.
	Rows int `json:"rows"`
	// Created counts new objects, Completed those that an earlier run created without their status.
	Created   int `json:"created"`
	Completed int `json:"completed"`
	// Existing counts objects that already have the name; they are unchanged.
	Existing int `json:"existing"`
	// Skipped counts rows of objects that were to be deleted, Failed rows with a problem.
	Skipped int `json:"skipped"`
	Failed  int `json:"failed"`
}

// Problem describes a problem with one row.
type Problem struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Text      string `json:"text"`
}

const rowsOfAPage = 200

// restorer works on one kind.
type restorer struct {
	env      cmdutil.Env
	kind     *registry.Kind
	limiter  *rate.Limiter
	evicted  bool
	dryRun   bool
	existing string

	tally    Tally
	problems []Problem
}

// run restores the rows of a query in the order of their uids.
func (r *restorer) run(ctx context.Context, query rows.Query) error {
	r.tally.Kind = r.kind.Name
	query.Limit = rowsOfAPage
	for {
		page, err := rows.Page(ctx, r.env.DB, r.kind, query)
		if err != nil {
			return err
		}
		contents, err := r.contents(ctx, page)
		if err != nil {
			return err
		}
		for _, row := range page {
			text, ok := contents[row.UID]
			if !ok {
				continue // closed and purged meanwhile
			}
			if err := r.limiter.Wait(ctx); err != nil {
				return err
			}
			if err := r.row(ctx, row, text); err != nil {
				return fmt.Errorf("restore %s %s/%s: %w", r.kind.Name, row.Namespace, row.Name, err)
			}
		}
		r.env.Log.V(1).Info("Restored", "kind", r.kind.Name, "rows", r.tally.Rows, "created", r.tally.Created)
		if len(page) < rowsOfAPage {
			return nil
		}
		query.After = page[len(page)-1].UID
	}
}

// contents reads the JSON of rows by uid.
func (r *restorer) contents(ctx context.Context, page []rows.Row) (out map[string][]byte, err error) {
	out = map[string][]byte{}
	if len(page) == 0 {
		return out, nil
	}
	uids := make([]string, 0, len(page))
	for _, row := range page {
		uids = append(uids, row.UID)
	}
	query, args, err := sqlx.In("SELECT uid, json FROM "+schema.Quote(r.kind.Table)+" WHERE uid IN (?)", uids)
	if err != nil {
		return nil, fmt.Errorf("query rows of %s: %w", r.kind.Name, err)
	}
	lines, err := r.env.DB.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read rows of %s: %w", r.kind.Name, err)
	}
	defer func() { err = errors.Join(err, lines.Close()) }()
	for lines.Next() {
		var uid string
		var text []byte
		if err := lines.Scan(&uid, &text); err != nil {
			return nil, fmt.Errorf("read rows of %s: %w", r.kind.Name, err)
		}
		out[uid] = text
	}
	return out, lines.Err()
}

func (r *restorer) problem(row rows.Row, format string, args ...any) {
	r.problems = append(r.problems, Problem{r.kind.Name, row.Namespace, row.Name, fmt.Sprintf(format, args...)})
}

// row restores one row. An error ends the whole run; a failure of this row only is a problem.
func (r *restorer) row(ctx context.Context, row rows.Row, text []byte) error {
	r.tally.Rows++
	stored := &unstructured.Unstructured{}
	if err := stored.UnmarshalJSON(text); err != nil {
		r.tally.Failed++
		r.problem(row, "its JSON is no object: %v", err)
		return nil
	}
	if why := unwanted(stored); why != "" {
		r.tally.Skipped++
		r.problem(row, "skipped: %s", why)
		return nil
	}
	object, status := prepare(stored, r.evicted)
	dropped, err := owners(ctx, r.env.Client, object)
	if err != nil {
		return err
	}
	err = r.env.Client.Create(ctx, object, r.createOptions()...)
	switch {
	case apierrors.IsAlreadyExists(err):
		return r.exists(ctx, row, object)
	case ends(err):
		return cmdutil.Explain(err)
	case err != nil:
		r.tally.Failed++
		r.problem(row, "%s", explain(err))
		return nil
	}
	r.tally.Created++
	if len(dropped) > 0 {
		r.problem(row, "restored without its owners, which are not there: %v", dropped)
	}
	if empty(status) || r.dryRun {
		return nil
	}
	_, err = r.putStatus(ctx, row, object, status)
	return err
}

func (r *restorer) createOptions() []client.CreateOption {
	// Strict: report a field that the CRD no longer has instead of dropping it.
	options := []client.CreateOption{client.FieldOwner(fieldManager), client.FieldValidation("Strict")}
	if r.dryRun {
		options = append(options, client.DryRunAll)
	}
	return options
}

// fieldManager is our name in managedFields.
const fieldManager = "ingester-restore"

// exists keeps an existing object unchanged, unless an earlier run was interrupted before its status.
func (r *restorer) exists(ctx context.Context, row rows.Row, object *unstructured.Unstructured) error {
	live := object.DeepCopy()
	if err := r.env.Client.Get(ctx, client.ObjectKeyFromObject(object), live); err != nil {
		return cmdutil.Explain(client.IgnoreNotFound(err))
	}
	from := live.GetAnnotations()[FromAnnotation]
	if from != "" && empty(live.Object["status"]) && !r.dryRun {
		put, err := r.complete(ctx, row, live, from)
		if put || err != nil {
			return err
		}
	}
	r.tally.Existing++
	if r.existing == failExisting {
		r.tally.Failed++
		r.problem(row, "exists already, with uid %s", live.GetUID())
	}
	return nil
}

// complete restores the status of the row that an object was restored from.
func (r *restorer) complete(ctx context.Context, row rows.Row, live *unstructured.Unstructured, from string) (bool, error) {
	contents, err := r.contents(ctx, []rows.Row{{UID: from}})
	if err != nil {
		return false, err
	}
	text, ok := contents[from]
	if !ok {
		return false, nil // purged
	}
	source := &unstructured.Unstructured{}
	if err := source.UnmarshalJSON(text); err != nil {
		return false, fmt.Errorf("row %s: %w", from, err)
	}
	if empty(source.Object["status"]) {
		return false, nil
	}
	put, err := r.putStatus(ctx, row, live, source.Object["status"])
	if put {
		r.tally.Completed++
	}
	return put, err
}

// conflicts is how often the update of a status is retried after a conflict.
const conflicts = 5

// putStatus restores a status, unless another client has written one meanwhile.
func (r *restorer) putStatus(ctx context.Context, row rows.Row, object *unstructured.Unstructured, status any) (bool, error) {
	for range conflicts {
		object.Object["status"] = status
		err := r.env.Client.Status().Update(ctx, object, client.FieldOwner(fieldManager))
		switch {
		case err == nil:
			return true, nil
		case apierrors.IsNotFound(err):
			return false, nil // deleted meanwhile
		case ends(err):
			return false, cmdutil.Explain(err)
		case !apierrors.IsConflict(err):
			r.tally.Failed++
			r.problem(row, "created, but its status is refused: %v", err)
			return false, nil
		}
		if err := r.env.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return false, cmdutil.Explain(client.IgnoreNotFound(err))
		}
		if !empty(object.Object["status"]) {
			return false, nil
		}
	}
	r.tally.Failed++
	r.problem(row, "created, but its status is not put back: the object changes all the time; run restore again")
	return false, nil
}

// ends reports whether an error ends the run: it does not concern one object only, so the next one would fail too.
func ends(err error) bool {
	if err == nil {
		return false
	}
	var status apierrors.APIStatus
	return apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, "NamespaceTerminating") ||
		apierrors.IsUnauthorized(err) || meta.IsNoMatchError(err) || errors.Is(err, sql.ErrConnDone) || !errors.As(err, &status)
}

func explain(err error) string {
	var status apierrors.APIStatus
	if apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces" {
		return fmt.Sprintf("namespace %s does not exist: create it first", status.Status().Details.Name)
	}
	return err.Error()
}
