package removefinalizers_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/command/commandtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/removefinalizers"
)

// TestUnservedKindsAreSkipped lists kinds whose CRD is not installed, or was deleted since the discovery.
func TestUnservedKindsAreSkipped(t *testing.T) {
	b := commandtest.New(t)
	p := b.Stored(b.Project("p"))
	inner, err := client.NewWithWatch(b.Plane.Config, client.Options{Scheme: b.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	env := b.Env
	env.Client = interceptor.NewClient(inner, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			switch gvk := list.GetObjectKind().GroupVersionKind(); gvk.Kind {
			case "ModelList":
				return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: api.Group, Kind: "Model"}, SearchedVersions: []string{api.Version}}
			case "PipelineList":
				return apierrors.NewGenericServerResponse(404, "list", schema.GroupResource{Group: api.Group, Resource: "pipelines"}, "", "404 page not found", 0, true)
			}
			return c.List(ctx, list, options...)
		},
	})
	out, text := run(t, &removefinalizers.Command{}, env)
	equal(t, "error", "", text)
	equal(t, "result", []string{"Project 1 0 0"}, lines(out))
	if want := "skipped, since the cluster does not serve them: Model, Pipeline\n"; !strings.Contains(out, want) {
		t.Errorf("got %q, want %q in it", out, want)
	}
	if f := b.Get(p).GetFinalizers(); len(f) > 0 {
		t.Errorf("finalizers of a served kind: %v", f)
	}
	c := &removefinalizers.Command{}
	c.Format = "json"
	out, text = run(t, c, env)
	equal(t, "error", "", text)
	var result removefinalizers.Result
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatal(err)
	}
	for _, k := range result.Kinds {
		equal(t, k.Kind+" is not served", k.Kind == "Model" || k.Kind == "Pipeline", k.NotServed)
	}
}
