package render

import (
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render/managedfields"
)

// Compare reports whether a live StatefulSet matches the current rendering.
//
// Labels of the StatefulSet itself do not count: they are repaired in place.
//
// A StatefulSet with a different fingerprint differs. With the same fingerprint it is the same
// as long as no other writer changed its spec, whatever defaults the API server
// has added; after such a change each rendered field must
// have its value, and no other writer may have added fields. So defaulting is never drift, and
// no rendered field is missed (specification 001, "Generation model").
//
// A StatefulSet without a fingerprint was created by an earlier operator: see [Adoption].
// settled is true when the engine's spec has not changed since its last rollout;
// [Adoption] uses it.
func Compare(desired Generation, live *appsv1.StatefulSet, settled bool) (engine.Match, error) {
	renderingHash, managed := live.Annotations[names.AnnotationRenderingHash]
	adopted, known := live.Annotations[names.AnnotationAdopted]
	switch {
	case managed:
		return compareManaged(desired, live, renderingHash)
	case known:
		return match(adopted == adoption(desired, live)), nil
	}
	return match(continues(desired, live, settled)), nil
}

func match(same bool) engine.Match {
	if same {
		return engine.Same
	}
	return engine.Differs
}

func compareManaged(desired Generation, live *appsv1.StatefulSet, renderingHash string) (engine.Match, error) {
	want := desired.StatefulSet
	if renderingHash != desired.Fingerprint || !within(want.Annotations, live.Annotations) {
		return engine.Differs, nil
	}
	by, err := managedfields.Of(live)
	if err != nil {
		return engine.Unknown, err
	}
	if by.OnlyOperator() && live.Generation == 1 {
		return engine.Same, nil
	}
	if !contains(reflect.ValueOf(want.Spec), reflect.ValueOf(live.Spec)) {
		return engine.Differs, nil
	}
	added, err := by.Added(want, live)
	if err != nil {
		return engine.Unknown, err
	}
	return match(!added), nil
}

// within reports whether have contains every entry of want. Other writers set labels and annotations too.
func within(want, have map[string]string) bool {
	for k, v := range want {
		if got, ok := have[k]; !ok || got != v {
			return false
		}
	}
	return true
}

var quantity, timestamp = reflect.TypeFor[resource.Quantity](), reflect.TypeFor[metav1.Time]()

// contains reports whether every field that is set in want has its value in have. The API server may
// have filled in a field that want leaves unset, but it never adds an entry to
// a list or a map, and never sets a plain bool.
func contains(want, have reflect.Value) bool {
	switch want.Kind() {
	case reflect.Struct:
		switch want.Type() {
		case quantity:
			return sameQuantity(want, have)
		case timestamp: // never rendered
			return true
		}
		for i := range want.NumField() {
			if w := want.Field(i); !canBeDefaulted(want.Type().Field(i), w) && !contains(w, have.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		if want.IsNil() || have.IsNil() {
			return want.IsNil() && have.IsNil()
		}
		return contains(want.Elem(), have.Elem())
	case reflect.Slice:
		if want.Len() != have.Len() {
			return false
		}
		for i := range want.Len() {
			if !contains(want.Index(i), have.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		return sameMap(want, have)
	default:
		return want.Equal(have)
	}
}

// canBeDefaulted reports whether the API server may fill in a field of a struct: only if it was not
// sent. A number or string without omitempty is always sent.
func canBeDefaulted(f reflect.StructField, want reflect.Value) bool {
	switch want.Kind() {
	case reflect.Pointer:
		return want.IsNil()
	case reflect.String, reflect.Int, reflect.Int32, reflect.Int64:
		return want.IsZero() && strings.Contains(f.Tag.Get("json"), ",omit")
	}
	return false
}

func sameMap(want, have reflect.Value) bool {
	if want.Len() != have.Len() {
		return false
	}
	for entries := want.MapRange(); entries.Next(); {
		v := have.MapIndex(entries.Key())
		if !v.IsValid() || !contains(entries.Value(), v) {
			return false
		}
	}
	return true
}

// sameQuantity compares amounts, not their notation. The API server rounds up to thousandths.
func sameQuantity(want, have reflect.Value) bool {
	w, okWant := reflect.TypeAssert[resource.Quantity](want)
	h, okHave := reflect.TypeAssert[resource.Quantity](have)
	if !okWant || !okHave {
		return false
	}
	w, h = w.DeepCopy(), h.DeepCopy()
	w.RoundUp(resource.Milli)
	h.RoundUp(resource.Milli)
	return w.Cmp(h) == 0
}
