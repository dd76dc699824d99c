package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/query"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// List implements storage.MetadataStorage.
func (s *Storage) List(ctx context.Context, typeMeta *metav1.TypeMeta, namespace string, listOptions *metav1.ListOptions, ext *storage.ListOptionsExt, response *storage.ListResponse) error {
	kind, err := s.kindNamed(typeMeta)
	if err != nil {
		return err
	}
	return s.query(ctx, query.Request{Kind: kind, Namespace: namespace, Options: listOptions, Ext: ext}, s.options.MaxPageBytes, response)
}

// QueryByTemplateID implements storage.MetadataStorage. Pages go by offset; there is no continue token.
func (s *Storage) QueryByTemplateID(ctx context.Context, typeMeta *metav1.TypeMeta, templateID string, ext *storage.ListOptionsExt, response *storage.ListResponse) error {
	kind, err := s.kindNamed(typeMeta)
	if err != nil {
		return err
	}
	expanded, _, err := query.Expand(kind, templateID, ext)
	if err != nil {
		return err
	}
	if err := s.query(ctx, query.Request{Kind: kind, Ext: expanded}, 0, response); err != nil {
		return fmt.Errorf("template %s: %w", templateID, err)
	}
	response.Continue = ""
	return nil
}

func (s *Storage) query(ctx context.Context, q query.Request, maxBytes int, response *storage.ListResponse) error {
	if response == nil {
		return invalid("response must not be nil")
	}
	plan, err := query.Compile(q)
	if err != nil {
		return err
	}
	ctx, cancel := withTimeout(ctx, q.Options)
	defer cancel()
	if err := s.choose(ctx, plan); err != nil {
		return fmt.Errorf("list %s: %w", q.Kind.Name, err)
	}
	answer, err := s.page(ctx, plan, maxBytes)
	if err != nil {
		return fmt.Errorf("list %s: %w", q.Kind.Name, err)
	}
	if q.Ext != nil && q.Ext.Pagination != nil && answer.Continue != "" && int64(len(answer.Items)) != plan.Limit() {
		return invalid("pagination: the page exceeds %d bytes after %d objects: lower its limit, or list by limit and continue token",
			maxBytes, len(answer.Items))
	}
	*response = *answer
	return nil
}

// withTimeout applies the timeout of a request.
func withTimeout(ctx context.Context, o *metav1.ListOptions) (context.Context, context.CancelFunc) {
	if o == nil || o.TimeoutSeconds == nil || *o.TimeoutSeconds == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Duration(*o.TimeoutSeconds)*time.Second)
}

// choose counts the matches of the labels of a plan, so that it takes its cheapest form.
func (s *Storage) choose(ctx context.Context, plan *query.Plan) error {
	probes := plan.Probes()
	counts := make([]int, len(probes))
	for i, p := range probes {
		if err := s.readOne(ctx, p, &counts[i]); err != nil {
			return fmt.Errorf("count labels: %w", err)
		}
	}
	plan.Choose(counts, s.selective())
	return nil
}

// page reads a page of at most maxBytes of content; 0 means unlimited.
func (s *Storage) page(ctx context.Context, plan *query.Plan, maxBytes int) (*storage.ListResponse, error) {
	answer := &storage.ListResponse{Items: []runtime.Object{}}
	var last []any
	more, size := false, 0
	var content []byte
	var matches sql.NullInt64
	err := s.each(ctx, plan.Page(), plan.Sorted(), []any{&content, &matches}, func(sorted []any) error {
		if plan.Limit() > 0 && int64(len(answer.Items)) == plan.Limit() {
			more = true
			return nil
		}
		if size += len(content); maxBytes > 0 && size > maxBytes && len(answer.Items) > 0 {
			more = true
			return errPageFull
		}
		object, err := s.decode(plan.Kind(), content, plan.Strip)
		if err != nil {
			return err
		}
		answer.Items, last = append(answer.Items, object), sorted
		return nil
	})
	if err != nil && !errors.Is(err, errPageFull) || !more {
		return answer, err
	}
	if answer.RemainingItemCount, err = s.remaining(ctx, plan, matches, int64(len(answer.Items))); err != nil {
		return nil, err
	}
	answer.Continue, err = plan.Token(last, answer.RemainingItemCount)
	return answer, err
}

// remaining returns the number of objects that follow a page other than the last. They are
// counted once, on the first page; the continue token carries the number from then on.
func (s *Storage) remaining(ctx context.Context, plan *query.Plan, matches sql.NullInt64, given int64) (*int64, error) {
	var n int64
	if expected := plan.Expected(); expected != nil {
		n = max(*expected-given, 1)
		return &n, nil
	}
	if statement, ok := plan.Count(given); ok {
		if err := s.readOne(ctx, statement, &n); err != nil {
			return nil, fmt.Errorf("count the remaining objects: %w", err)
		}
	} else if matches.Valid {
		n = plan.Remaining(matches.Int64, given)
	} else {
		return nil, nil
	}
	if !query.Counted(n) {
		return nil, nil
	}
	n = max(n, 1)
	return &n, nil
}

// GetByName implements storage.MetadataStorage. If two rows were live, which the writer prevents,
// it would return the newest one.
func (s *Storage) GetByName(ctx context.Context, namespace, name string, object runtime.Object) error {
	return s.get(ctx, object, "namespace = ? AND name = ? AND delete_time IS NULL ORDER BY incarnation DESC, res_version DESC LIMIT 1", namespace, name)
}

// GetByID implements storage.MetadataStorage.
func (s *Storage) GetByID(ctx context.Context, uid string, object runtime.Object) error {
	return s.get(ctx, object, "uid = ? AND delete_time IS NULL", uid)
}

func (s *Storage) get(ctx context.Context, object runtime.Object, where string, args ...any) error {
	kind, err := s.kindOf(object)
	if err != nil {
		return err
	}
	var text []byte
	statement := query.Statement{SQL: "SELECT json FROM " + schema.Quote(kind.Table) + " WHERE " + where, Args: args}
	err = s.readOne(ctx, statement, &text)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s %v: %w", kind.Name, args, storage.ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("read %s %v: %w", kind.Name, args, err)
	}
	if err := fill(object, text); err != nil {
		return fmt.Errorf("read %s %v: %w", kind.Name, args, err)
	}
	return nil
}
