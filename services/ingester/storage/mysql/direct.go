package mysql

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/query"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// update is one update of an object that exists in storage only.
type update struct {
	s       *Storage
	kind    *registry.Kind
	desired *unstructured.Unstructured
	fields  []storage.IndexedField
	trace   string
	version string // after the update
}

// updateDirectly stores labels and annotations of an evicted object, provided that the caller
// has its latest version. Other parts of the object are ignored: they can no longer change.
func (s *Storage) updateDirectly(ctx context.Context, object runtime.Object, fields []storage.IndexedField) error {
	desired, kind, err := s.content(object)
	if err != nil {
		return err
	}
	if _, err := overrides(kind, fields); err != nil {
		return err
	}
	where := fmt.Sprintf("%s %s/%s", kind.Name, desired.GetNamespace(), desired.GetName())
	uid, err := s.liveUID(ctx, kind, desired)
	if err != nil {
		return fmt.Errorf("update %s: %w", where, err)
	}
	u := &update{s: s, kind: kind, desired: desired, fields: fields, trace: traceParent(ctx)}
	if err := s.direct.Amend(ctx, kind, uid, u.edit); err != nil {
		return fmt.Errorf("update %s: %w", where, rejected(err))
	}
	accessor, err := apimeta.Accessor(object)
	if err != nil {
		return fmt.Errorf("update %s: %w", where, err)
	}
	accessor.SetResourceVersion(u.version)
	return nil
}

// liveUID finds the row of an object by its name, since a caller may not know the uid.
func (s *Storage) liveUID(ctx context.Context, kind *registry.Kind, desired *unstructured.Unstructured) (string, error) {
	if desired.GetNamespace() == "" || desired.GetName() == "" {
		return "", invalid("namespace and name must be given")
	}
	live, err := rows.Page(ctx, s.db, kind, rows.Query{
		State: rows.Open, Namespaces: []string{desired.GetNamespace()}, Names: []string{desired.GetName()},
	})
	if err != nil {
		return "", err
	}
	if len(live) == 0 {
		return "", storage.ErrNotFound
	}
	newest := live[0]
	for _, r := range live {
		if string(desired.GetUID()) == r.UID {
			return r.UID, nil
		}
		if r.Incarnation > newest.Incarnation || r.Incarnation == newest.Incarnation && r.ResVersion > newest.ResVersion {
			newest = r
		}
	}
	if uid := string(desired.GetUID()); uid != "" {
		return "", fmt.Errorf("%w: the object of that name has uid %s, want %s", storage.ErrConflict, newest.UID, uid)
	}
	return newest.UID, nil
}

// edit decides while the row is locked.
func (u *update) edit(row *rows.Row, text []byte) (*record.Record, error) {
	switch {
	case row == nil || !row.Live():
		return nil, storage.ErrNotFound
	case !row.Evicted():
		return nil, fmt.Errorf("%w: the object is in the cluster: change it there", storage.ErrConflict)
	}
	current := strconv.FormatInt(row.ResVersion, 10)
	if desired := u.desired.GetResourceVersion(); desired != current {
		return nil, fmt.Errorf("%w: got resourceVersion %q, want %s", storage.ErrConflict, desired, current)
	}
	stored := &unstructured.Unstructured{Object: map[string]any{}}
	if err := utiljson.Unmarshal(text, &stored.Object); err != nil {
		return nil, fmt.Errorf("decode the stored content: %w", err)
	}
	u.version = current
	if u.fields == nil && equalPairs(stored, u.desired) {
		return nil, nil
	}
	u.version = strconv.FormatInt(row.ResVersion+1, 10)
	setPairs(stored, u.desired)
	stored.SetResourceVersion(u.version)
	return u.s.build(stored, record.Evicted, u.kind, u.fields, u.trace)
}

func equalPairs(a, b metav1.Object) bool {
	return maps.Equal(a.GetLabels(), b.GetLabels()) && maps.Equal(a.GetAnnotations(), b.GetAnnotations())
}

// setPairs copies labels and annotations; without any it leaves no empty map.
func setPairs(to *unstructured.Unstructured, from metav1.Object) {
	set := func(field string, pairs map[string]string, put func(map[string]string)) {
		if len(pairs) > 0 {
			put(pairs)
			return
		}
		unstructured.RemoveNestedField(to.Object, "metadata", field)
	}
	set("labels", from.GetLabels(), to.SetLabels)
	set("annotations", from.GetAnnotations(), to.SetAnnotations)
}

// override is the value of one indexed column that the caller gives.
type override struct {
	column int
	value  any
}

// overrides reads indexed fields; each must be a column of the kind, named once.
func overrides(kind *registry.Kind, fields []storage.IndexedField) ([]override, error) {
	seen := map[string]bool{}
	out := make([]override, 0, len(fields))
	for _, f := range fields {
		column, i, err := query.Indexed(kind, f.Key)
		if err != nil {
			return nil, err
		}
		if seen[f.Key] {
			return nil, invalid("indexed field %q is given twice", f.Key)
		}
		seen[f.Key] = true
		value, err := column.Override(f.Value)
		if err != nil {
			return nil, err
		}
		out = append(out, override{i, value})
	}
	return out, nil
}
