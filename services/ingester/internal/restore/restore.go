package restore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/libs/kube/rejection"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// Counts counts the rows of one kind.
type Counts struct {
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

const pageSize = 200

// restorer restores the rows of one kind.
type restorer struct {
	env      command.Env
	kind     *registry.Kind
	limiter  *rate.Limiter
	evicted  bool
	dryRun   bool
	existing string

	counts   Counts
	problems []command.Problem
}

// run restores the rows of a query in the order of their uids.
func (r *restorer) run(ctx context.Context, query rows.Query) error {
	r.counts.Kind = r.kind.Name
	query.Limit = pageSize
	return rows.Pages(ctx, r.env.DB, r.kind, query, func(page []rows.Row) error { return r.page(ctx, page) })
}

func (r *restorer) page(ctx context.Context, page []rows.Row) error {
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
	r.env.Log.V(1).Info("Restored", "kind", r.kind.Name, "rows", r.counts.Rows, "created", r.counts.Created)
	return nil
}

// contents reads the JSON of rows by uid.
func (r *restorer) contents(ctx context.Context, page []rows.Row) (map[string][]byte, error) {
	out := map[string][]byte{}
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
	var contents []struct {
		UID  string `db:"uid"`
		JSON []byte `db:"json"`
	}
	if err := sqlx.NewDb(r.env.DB, "mysql").SelectContext(ctx, &contents, query, args...); err != nil {
		return nil, fmt.Errorf("read rows of %s: %w", r.kind.Name, err)
	}
	for _, c := range contents {
		out[c.UID] = c.JSON
	}
	return out, nil
}

func (r *restorer) problem(row rows.Row, format string, args ...any) {
	r.problems = append(r.problems, command.Problem{Kind: r.kind.Name, Namespace: row.Namespace, Name: row.Name, Text: fmt.Sprintf(format, args...)})
}

// row restores one row. An error ends the whole run; a failure of this row only is a problem.
func (r *restorer) row(ctx context.Context, row rows.Row, text []byte) error {
	r.counts.Rows++
	stored := &unstructured.Unstructured{}
	if err := stored.UnmarshalJSON(text); err != nil {
		r.counts.Failed++
		r.problem(row, "its JSON is not an object: %v", err)
		return nil
	}
	if reason := skipReason(stored); reason != "" {
		r.counts.Skipped++
		r.problem(row, "skipped: %s", reason)
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
	case r.isFatal(ctx, rejection.Write{Verb: "create", Object: object}, err):
		return command.Explain(err)
	case err != nil:
		r.counts.Failed++
		r.problem(row, "%s", explain(err))
		return nil
	}
	r.counts.Created++
	if len(dropped) > 0 {
		r.problem(row, "restored without its owners, which do not exist: %v", dropped)
	}
	if empty(status) || r.dryRun {
		return nil
	}
	_, err = r.restoreStatus(ctx, row, object, status)
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

// fieldManager is the field manager of this command.
const fieldManager = "ingester-restore"

// exists keeps an existing object unchanged, unless an earlier run was interrupted before its status.
func (r *restorer) exists(ctx context.Context, row rows.Row, object *unstructured.Unstructured) error {
	live := object.DeepCopy()
	if err := r.env.Client.Get(ctx, client.ObjectKeyFromObject(object), live); err != nil {
		return command.Explain(client.IgnoreNotFound(err))
	}
	from := live.GetAnnotations()[FromAnnotation]
	if from != "" && empty(live.Object["status"]) && !r.dryRun {
		restored, err := r.complete(ctx, row, live, from)
		if restored || err != nil {
			return err
		}
	}
	r.counts.Existing++
	if r.existing == failExisting {
		r.counts.Failed++
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
	restored, err := r.restoreStatus(ctx, row, live, source.Object["status"])
	if restored {
		r.counts.Completed++
	}
	return restored, err
}

// maxConflicts bounds the attempts to update a status after conflicts.
const maxConflicts = 5

// restoreStatus restores a status, unless another client has written one meanwhile.
func (r *restorer) restoreStatus(ctx context.Context, row rows.Row, object *unstructured.Unstructured, status any) (bool, error) {
	for range maxConflicts {
		object.Object["status"] = status
		err := r.env.Client.Status().Update(ctx, object, client.FieldOwner(fieldManager))
		switch {
		case err == nil:
			return true, nil
		case apierrors.IsNotFound(err):
			return false, nil // deleted meanwhile
		case r.isFatal(ctx, rejection.Write{Verb: "update", Object: object, Subresource: "status"}, err):
			return false, command.Explain(err)
		case !apierrors.IsConflict(err):
			r.counts.Failed++
			r.problem(row, "created, but its status was rejected: %v", err)
			return false, nil
		}
		if err := r.env.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return false, command.Explain(client.IgnoreNotFound(err))
		}
		if !empty(object.Object["status"]) {
			return false, nil
		}
	}
	r.counts.Failed++
	r.problem(row, "created without its status after repeated conflicts: run restore again")
	return false, nil
}

// isFatal reports whether the error of a write ends the run: the writes of the next objects would fail too.
func (r *restorer) isFatal(ctx context.Context, w rejection.Write, err error) bool {
	return err != nil && !rejection.IsSpecific(ctx, r.env.Client, w, err)
}

func explain(err error) string {
	var status apierrors.APIStatus
	if apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces" {
		return fmt.Sprintf("namespace %s not found: create it first", status.Status().Details.Name)
	}
	return err.Error()
}
