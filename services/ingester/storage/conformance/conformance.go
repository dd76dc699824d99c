package conformance

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// Open returns a store over an empty database that accepts writes. It closes the store at the end
// of the test.
type Open func(t *testing.T) storage.IngesterStorage

// Run runs the suite.
func Run(t *testing.T, open func(t *testing.T) storage.IngesterStorage) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, Open)
	}{
		{"ObjectsAreStoredAndRead", objectsAreStoredAndRead},
		{"TypedObjectsAreStoredAndRead", typedObjectsAreStoredAndRead},
		{"ErrorsAreTyped", errorsAreTyped},
		{"IndexedFieldsOverride", indexedFieldsOverride},
		{"CloseCanBeRepeated", closeCanBeRepeated},
		{"ClosedRowsStayClosed", closedRowsStayClosed},
		{"FieldsHaveThreeNames", fieldsHaveThreeNames},
		{"SelectorsFollowKubernetes", selectorsFollowKubernetes},
		{"CriteriaCompareByType", criteriaCompareByType},
		{"InvalidRequestsAreRejected", invalidRequestsAreRejected},
		{"OnlyLiveObjectsAreListed", onlyLiveObjectsAreListed},
		{"PagesGoByOffset", pagesGoByOffset},
		{"TokensRequireTheirRequest", tokensRequireTheirRequest},
		{"PagesAreStableUnderChange", pagesAreStableUnderChange},
		{"SkippedFieldsAreOmitted", skippedFieldsAreOmitted},
		{"RandomRequests", randomRequests},
		{"DeleteClosesTheLiveRow", deleteClosesTheLiveRow},
		{"DeleteCollectionObeysItsSelectors", deleteCollectionFollowsSelectors},
		{"DeleteCollectionUnderChange", deleteCollectionUnderChange},
		{"DirectUpdates", directUpdates},
		{"DirectUpdatesAreRejected", directUpdatesAreRejected},
		{"OneDirectUpdateOfManyWins", concurrentDirectUpdatesConflict},
		{"Templates", templates},
		{"TemplatesAreChecked", templatesAreChecked},
		{"BackfillContinuesWhereItStopped", backfillContinues},
		{"BackfillRewrites", backfillRewrites},
		{"BackfillLeavesBadObjects", backfillSkipsInvalidObjects},
		{"BackfillUnderChange", backfillUnderChange},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open) })
	}
}

// typeOf returns the TypeMeta of a kind.
func typeOf(kind string) *metav1.TypeMeta {
	return &metav1.TypeMeta{APIVersion: api.Group + "/" + api.Version, Kind: kind}
}

// empty returns an object to read into.
func empty(kind string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(api.Group + "/" + api.Version)
	u.SetKind(kind)
	return u
}

// object returns an object as the API server creates it: version 1, created in the given second
// of a fixed minute.
func object(kind, namespace, name string, second int, spec map[string]any) *unstructured.Unstructured {
	u := empty(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetUID(uid(namespace, name))
	u.SetResourceVersion("1")
	u.SetGeneration(1)
	u.SetCreationTimestamp(at(second))
	if spec != nil {
		u.Object["spec"] = spec
	}
	return u
}

func upsert(t *testing.T, s storage.IngesterStorage, objects ...runtime.Object) {
	t.Helper()
	for _, o := range objects {
		if err := s.Upsert(t.Context(), o, false, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// list lists objects and returns their names.
func list(t *testing.T, s storage.IngesterStorage, kind, namespace string, options metav1.ListOptions, ext *storage.ListOptionsExt) []string {
	t.Helper()
	var response storage.ListResponse
	if err := s.List(t.Context(), typeOf(kind), namespace, &options, ext, &response); err != nil {
		t.Fatal(err)
	}
	return names(t, response.Items)
}

func names(t *testing.T, items []runtime.Object) []string {
	t.Helper()
	out := make([]string, 0, len(items))
	for _, item := range items {
		accessor, ok := item.(metav1.Object)
		if !ok {
			t.Fatalf("an item is a %T", item)
		}
		out = append(out, accessor.GetName())
	}
	return out
}

// invalid checks that an error is ErrInvalid and names the invalid part.
func invalid(t *testing.T, err error, invalidPart string) {
	t.Helper()
	if !errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), invalidPart) {
		t.Errorf("error %v, want ErrInvalid that names %q", err, invalidPart)
	}
}

func expectError(t *testing.T, operation string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", operation, err, want)
	}
}

func criteria(c ...storage.Criterion) *storage.ListOptionsExt {
	return &storage.ListOptionsExt{Operation: &storage.CriterionOperation{Criteria: c}}
}
