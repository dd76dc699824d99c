// Package superset contains the scenarios of the Superset operator.
package superset

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
	"github.com/flotilla-dev/flotilla/test/e2e/timeline"
)

var (

	// shopKinds lists the kinds of the objects of a Superset, with ReplicaSets and pods.
	shopKinds = []schema.GroupVersionKind{
		platform.Deployments, platform.Services, platform.ConfigMaps, platform.Jobs, cluster.Pod,
		{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
		{Version: "v1", Kind: "ServiceAccount"},
		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
		{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
	}

	shopLabels = map[string]string{"superset.apache.org/parent": "shop"}
)

const (
	oldImage = "flotilla-e2e/superset-stub:6.0.0"
	newImage = "flotilla-e2e/superset-stub:6.1.0"
	// firstKey is the secret key of the sample.
	firstKey = "the first key of the shop, long enough for anybody"
)

// shopScenario is the Superset of the sample superset.yaml, in a namespace of its own.
type shopScenario struct {
	*Web
	image    string                    // desired image
	replicas int64                     // of the web server
	adapt    func(spec map[string]any) // changes the spec of the sample for the scenario
}

// supersetScenario returns a shop, and a scenario without phases that prepares it, evaluates by these rules, and cleans up.
func supersetScenario(p *platform.Platform, name, title string, phases []WebPhase) (*shopScenario, run.Scenario) {
	web := &Web{Platform: p, Namespace: name, Name: "shop", Title: "The shop is closed for a moment"}
	w := &shopScenario{Web: web, image: oldImage, replicas: 2, adapt: func(map[string]any) {}}
	return w, run.Scenario{
		Name: name, Title: title, Limit: 20 * time.Minute, Services: []string{"superset-operator"},
		Watch:    []timeline.Object{{GVK: platform.Supersets, Namespace: name, Name: "shop"}},
		Prepare:  w.prepare,
		Evaluate: EvaluateWeb(phases),
		Clean:    func(ctx context.Context, _ *run.Step) error { return p.RemoveNamespace(ctx, name) },
	}
}

// prepare installs the shop, whose database the operator creates, and starts a load generator for its web server.
func (w *shopScenario) prepare(ctx context.Context, s *run.Step) (run.Loadgen, error) {
	if err := w.MakeNamespace(ctx, w.Namespace); err != nil {
		return nil, err
	}
	if err := w.databases(ctx, s); err != nil {
		return nil, err
	}
	objects, err := w.Sample("superset.yaml")
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if o.GetKind() == platform.Supersets.Kind {
			spec, ok := o.Object["spec"].(map[string]any)
			if !ok {
				return nil, errors.New("the Superset of the sample has no spec")
			}
			spec["image"] = map[string]any{"repository": "flotilla-e2e/superset-stub", "tag": "6.0.0", "pullPolicy": "IfNotPresent"}
			w.adapt(spec)
		}
	}
	if err := w.ApplyObjects(ctx, w.Namespace, objects); err != nil {
		return nil, err
	}
	startedAt := s.Now()
	if err := w.serves(ctx, s); err != nil {
		return nil, err
	}
	s.Note("Installed in %.0f s, with a database that the operator's Job created.", s.Now().Sub(startedAt).Seconds())
	return w.StartUsers(ctx, s, "/", StubPage, "--clients", "8", "--rate", "12", "--timeout", "20s")
}

// databases starts PostgreSQL and Valkey, and checks that the shop's database does not exist yet.
func (w *shopScenario) databases(ctx context.Context, s *run.Step) error {
	if err := w.ApplySample(ctx, w.Namespace, "superset-databases.yaml", "mysql"); err != nil {
		return err
	}
	for _, app := range []string{"postgres", "valkey"} {
		if err := w.Ready(ctx, s, w.Namespace, map[string]string{"app": app}, 1); err != nil {
			return err
		}
	}
	found, err := w.psql(ctx, "superset", "SELECT count(*) FROM pg_database WHERE datname = 'shop'")
	if err == nil && found != "0" {
		err = fmt.Errorf("got %q databases shop before the shop is installed, want 0", found)
	}
	return err
}

// psql runs a statement with psql in the pod of PostgreSQL and returns the result.
func (w *shopScenario) psql(ctx context.Context, database, statement string) (string, error) {
	return w.InPostgres(ctx, w.Namespace, database, statement)
}

// serving returns an action that waits until the shop runs this image.
func (w *shopScenario) serving(image string) run.Action {
	return func(ctx context.Context, s *run.Step) error {
		w.image = image
		return w.serves(ctx, s)
	}
}

// serves waits until the shop runs w.image.
func (w *shopScenario) serves(ctx context.Context, s *run.Step) error {
	return w.Serves(w.image, w.replicas)(ctx, s)
}

// remove deletes the shop, waits until its objects are deleted, and checks that its database still exists.
func (w *shopScenario) remove(ctx context.Context, s *run.Step) error {
	if _, err := w.Kubectl(ctx, "", "delete", "superset", "shop", "-n", w.Namespace, "--timeout=3m"); err != nil {
		return err
	}
	if err := s.Until(ctx, "the objects of the shop are deleted", func(ctx context.Context) error {
		return w.Leftovers(ctx, w.Namespace, shopLabels, shopKinds...)
	}); err != nil {
		return err
	}
	rows, err := w.psql(ctx, "shop", "SELECT count(*) FROM dbs")
	if err == nil && rows != "3" {
		err = fmt.Errorf("the metastore of the deleted Superset has %q rows, want 3", rows)
	}
	return err
}
