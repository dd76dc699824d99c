// Package managedfields reads and rewrites metadata.managedFields: who owns which
// field, and how the fields of a former manager become those of the current one.
package managedfields

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Applied returns the fields that manager owns by server-side apply to the
// subresource ("" is the object itself), or nil when it has applied nothing.
func Applied(obj metav1.Object, manager, subresource string) (*fieldpath.Set, error) {
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager != manager || entry.Subresource != subresource ||
			entry.Operation != metav1.ManagedFieldsOperationApply {
			continue
		}
		set := &fieldpath.Set{}
		if entry.FieldsV1 == nil {
			return set, nil
		}
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, fmt.Errorf("read managed fields of %q: %w", manager, err)
		}
		return set, nil
	}
	return nil, nil
}

// Transfer returns a JSON patch that transfers the fields of the former managers to
// manager, or nil if they own none. Fields that manager itself wrote with Update
// count as former. The patch carries the resourceVersion of obj.
//
// Without this a former manager stays a co-owner: fields that are no longer
// applied would never be removed, and changed ones would conflict.
func Transfer(obj metav1.Object, manager, subresource string, former []string) ([]byte, error) {
	entries := obj.GetManagedFields()
	if !slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return isFormer(e, manager, subresource, former)
	}) {
		return nil, nil
	}
	meta := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: obj.GetResourceVersion(), ManagedFields: entries,
	}}
	meta = meta.DeepCopy() // csaupgrade changes fields in place, and obj may be of a cache
	for i, e := range meta.ManagedFields {
		if isFormer(e, manager, subresource, former) {
			// csaupgrade identifies former managers by the operation Update only.
			meta.ManagedFields[i].Operation = metav1.ManagedFieldsOperationUpdate
		}
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(
		meta, sets.New(former...).Insert(manager), manager, csaupgrade.Subresource(subresource))
	if err != nil {
		return nil, fmt.Errorf("transfer managed fields: %w", err)
	}
	return patch, nil
}

func isFormer(e metav1.ManagedFieldsEntry, manager, subresource string, former []string) bool {
	if e.Subresource != subresource {
		return false
	}
	if e.Manager == manager {
		return e.Operation == metav1.ManagedFieldsOperationUpdate
	}
	return slices.Contains(former, e.Manager)
}

// Scope divides the fields of another manager: the caller takes the first part, the other
// manager keeps the second. Fields in neither part lose their owner.
type Scope func(*fieldpath.Set) (claimed, kept *fieldpath.Set)

// Reclaim returns a JSON patch that transfers to manager the fields in scope that
// other managers own, and the names of those managers; nil if there are no such
// fields. Fields that manager itself wrote with Update are always in scope.
// The patch carries the resourceVersion of obj.
func Reclaim(obj metav1.Object, manager, subresource string, scope Scope) (patch []byte, former []string, err error) {
	var entries []metav1.ManagedFieldsEntry
	own := &metav1.ManagedFieldsEntry{
		Manager: manager, Subresource: subresource, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1",
	}
	claimed := &fieldpath.Set{}
	for _, entry := range obj.GetManagedFields() {
		isOwn := entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply
		if entry.Subresource != subresource || entry.FieldsV1 == nil {
			entries = append(entries, entry)
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, nil, fmt.Errorf("read managed fields of %q: %w", entry.Manager, err)
		}
		part, kept := set, &fieldpath.Set{}
		switch {
		case isOwn:
			own = entry.DeepCopy()
		case entry.Manager != manager:
			part, kept = scope(set)
		}
		if !isOwn && !part.Empty() {
			former = append(former, entry.Manager)
			own.APIVersion, own.Time = entry.APIVersion, entry.Time
		}
		claimed = claimed.Union(part)
		if !kept.Empty() {
			if entry, err = withFields(entry, kept); err != nil {
				return nil, nil, err
			}
			entries = append(entries, entry)
		}
	}
	if len(former) == 0 {
		return nil, nil, nil
	}
	entry, err := withFields(*own, claimed)
	if err != nil {
		return nil, nil, err
	}
	patch, err = json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": append(entries, entry)},
		// A replaced resourceVersion makes a stale patch a conflict; a failed test would be an invalid request.
		{"op": "replace", "path": "/metadata/resourceVersion", "value": obj.GetResourceVersion()},
	})
	return patch, former, err
}

func withFields(entry metav1.ManagedFieldsEntry, set *fieldpath.Set) (metav1.ManagedFieldsEntry, error) {
	raw, err := set.ToJSON()
	if err != nil {
		return entry, fmt.Errorf("write managed fields of %q: %w", entry.Manager, err)
	}
	entry.FieldsV1 = metav1.NewFieldsV1(string(raw))
	return entry, nil
}

// Updaters lists the managers, other than the given one, that own anything under
// one of the paths because they wrote the object itself with Update.
func Updaters(obj metav1.Object, except string, paths []fieldpath.Path) ([]string, error) {
	var out []string
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager == except || entry.Subresource != "" || entry.FieldsV1 == nil ||
			entry.Operation != metav1.ManagedFieldsOperationUpdate {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, fmt.Errorf("read managed fields of %q: %w", entry.Manager, err)
		}
		if slices.ContainsFunc(paths, func(p fieldpath.Path) bool { return under(set, p) }) {
			out = append(out, entry.Manager)
		}
	}
	return out, nil
}

func under(set *fieldpath.Set, path fieldpath.Path) bool {
	for _, pe := range path {
		child, ok := set.Children.Get(pe)
		if !ok {
			return false
		}
		set = child
	}
	return true
}
