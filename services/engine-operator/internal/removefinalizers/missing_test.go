package removefinalizers

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// listClient lists one object with the finalizer of its kind, or fails with the error of the kind.
type listClient struct {
	client.Client
	errs map[string]error
}

func (c listClient) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	kind := strings.TrimSuffix(list.GetObjectKind().GroupVersionKind().Kind, "List")
	if err := c.errs[kind]; err != nil {
		return err
	}
	for _, k := range kinds {
		if page, ok := list.(*metav1.PartialObjectMetadataList); ok && k.kind == kind {
			page.Items = []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "a", Finalizers: []string{k.finalizer}}}}
		}
	}
	return nil
}

// A kind whose CRD is not installed does not keep the others from losing their finalizers.
func TestCommandSkipsMissingCRDs(t *testing.T) {
	gk := v1alpha1.GroupVersion.WithKind("FireboltEngine").GroupKind()
	cl := listClient{errs: map[string]error{
		"FireboltEngine":      &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: []string{"v1alpha1"}},
		"FireboltEngineClass": apierrors.NewNotFound(schema.GroupResource{Group: gk.Group, Resource: "fireboltengineclasses"}, ""),
	}}
	var out strings.Builder
	if err := (&Command{DryRun: true}).Run(t.Context(), Env{Client: cl}, &out); err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Fields(line))
	}
	const skipped = "skipped: its CRD is not installed"
	for i, want := range []string{"FireboltEngine " + skipped, "FireboltEngineClass " + skipped, "FireboltInstance 1 0"} {
		if len(got) != 4 || strings.Join(got[i+1], " ") != want {
			t.Errorf("line %d of %q, want %q", i+1, out.String(), want)
		}
	}
	cl.errs["FireboltEngine"] = errors.New("unavailable")
	if err := (&Command{DryRun: true}).Run(t.Context(), Env{Client: cl}, &out); err == nil {
		t.Error("another error of a list is ignored")
	}
}
