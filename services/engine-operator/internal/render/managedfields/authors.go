// Package managedfields identifies the writers of the fields of a StatefulSet.
package managedfields

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// Authors are the writers of the spec of an object, as the API server has recorded them in
// managedFields. Defaults have no writer.
type Authors struct {
	// operator is true when the operator applied the object. A copy from a backup loses that: its
	// managedFields name only the restorer, and no edits.
	operator bool
	// others are the fields of the other writers, each as a FieldsV1 tree below the spec.
	others []map[string]any
}

// Of returns the authors of the spec of a StatefulSet.
func Of(live *appsv1.StatefulSet) (Authors, error) {
	var out Authors
	for _, e := range live.ManagedFields {
		switch {
		case e.Subresource != "" || e.FieldsV1 == nil:
		case e.Manager == names.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply:
			out.operator = true
		default:
			var fields struct {
				Spec map[string]any `json:"f:spec"`
			}
			if err := json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields); err != nil {
				return Authors{}, fmt.Errorf("read fields of %q on StatefulSet %q: %w", e.Manager, live.Name, err)
			}
			if fields.Spec != nil {
				out.others = append(out.others, fields.Spec)
			}
		}
	}
	return out, nil
}

// OnlyOperator reports whether only the operator wrote the spec.
func (a Authors) OnlyOperator() bool { return a.operator && len(a.others) == 0 }

// Added reports whether another writer set a field that was not rendered. Package render detects
// entries that were added to lists and maps.
func (a Authors) Added(want, live *appsv1.StatefulSet) (bool, error) {
	if !a.operator || len(a.others) == 0 {
		return false, nil
	}
	w, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&want.Spec)
	if err != nil {
		return false, fmt.Errorf("convert rendered StatefulSet %q: %w", want.Name, err)
	}
	h, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&live.Spec)
	if err != nil {
		return false, fmt.Errorf("convert live StatefulSet %q: %w", live.Name, err)
	}
	for _, fields := range a.others {
		if extends(w, h, fields) {
			return true, nil
		}
	}
	return false, nil
}

// extends reports whether one of the fields is set in have and not in want, or is owned as a
// whole and differs from want.
func extends(want, have any, fields map[string]any) bool {
	for key, children := range fields {
		w, h, ok := step(want, have, key)
		if !ok {
			continue
		}
		inner, _ := children.(map[string]any)
		switch {
		case w == nil:
			return true
		case len(inner) > 0:
			if extends(w, h, inner) {
				return true
			}
		case !reflect.DeepEqual(w, h): // a list or an object that is owned as a whole
			return true
		}
	}
	return false
}

// step descends one element of a FieldsV1 tree in both values: "f:name" into a field,
// "k:{...}" into the item of a list that has these keys. ok is false when have lacks the element.
func step(want, have any, key string) (w, h any, ok bool) {
	if name, isField := strings.CutPrefix(key, "f:"); isField {
		h, ok = field(have, name)
		w, _ = field(want, name)
		return w, h, ok
	}
	text, isItem := strings.CutPrefix(key, "k:")
	var keys map[string]any
	if !isItem || json.Unmarshal([]byte(text), &keys) != nil {
		return nil, nil, false
	}
	h, ok = item(have, keys)
	w, _ = item(want, keys)
	return w, h, ok
}

func field(of any, name string) (any, bool) {
	m, _ := of.(map[string]any)
	v, ok := m[name]
	return v, ok
}

func item(of any, keys map[string]any) (any, bool) {
	list, _ := of.([]any)
	for _, e := range list {
		m, _ := e.(map[string]any)
		found := len(m) > 0
		for k, v := range keys {
			// An omitted key has its default: the protocol of a port is TCP.
			have, ok := m[k]
			found = found && (!ok || fmt.Sprint(have) == fmt.Sprint(v))
		}
		if found {
			return m, true
		}
	}
	return nil, false
}
