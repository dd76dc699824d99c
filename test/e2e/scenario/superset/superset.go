// Package superset contains the scenarios of the Superset operator.
package superset

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	*platform.Platform
	namespace string
	image     string                    // desired image
	replicas  int64                     // of the web server
	adapt     func(spec map[string]any) // changes the spec of the sample for the scenario
	loadgen   *cluster.Loadgen
}

// supersetScenario returns a shop, and a scenario without phases that prepares it, evaluates by these rules, and cleans up.
func supersetScenario(p *platform.Platform, name, title string, phases []WebPhase) (*shopScenario, run.Scenario) {
	w := &shopScenario{Platform: p, namespace: name, image: oldImage, replicas: 2, adapt: func(map[string]any) {}}
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
	if err := w.MakeNamespace(ctx, w.namespace); err != nil {
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
	if err := w.ApplyObjects(ctx, w.namespace, objects); err != nil {
		return nil, err
	}
	startedAt := s.Now()
	if err := w.serves(ctx, s); err != nil {
		return nil, err
	}
	s.Note("Installed in %.0f s, with a database that the operator's Job created.", s.Now().Sub(startedAt).Seconds())
	// Use the cluster IP: it must stay the same when pods change, and a busy DNS server cannot cause failures.
	service, err := w.Get(ctx, platform.Services, w.namespace, "shop-web-server")
	if err != nil {
		return nil, err
	}
	w.loadgen, err = w.StartLoadgen(ctx, s, w.namespace, "loadgen",
		"--url", "http://"+net.JoinHostPort(platform.Text(service, "spec", "clusterIP"), "8088")+"/",
		"--clients", "8", "--rate", "12", "--timeout", "20s", "--retry-drained",
		"--label", OldPage+`=superset page: version=6\.0\.0 `, "--label", NewPage+`=superset page: version=6\.1\.0 `,
		"--label", MaintenancePage+`=<h1>The shop is closed for a moment</h1>`,
		"--good", OldPage, "--good", NewPage, "--good", MaintenancePage)
	return w.loadgen, err
}

// databases starts PostgreSQL and Valkey, and checks that the shop's database does not exist yet.
func (w *shopScenario) databases(ctx context.Context, s *run.Step) error {
	if err := w.ApplySample(ctx, w.namespace, "superset-databases.yaml", "mysql"); err != nil {
		return err
	}
	for _, app := range []string{"postgres", "valkey"} {
		if err := w.Ready(ctx, s, w.namespace, map[string]string{"app": app}, 1); err != nil {
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
	return w.InPostgres(ctx, w.namespace, database, statement)
}

// steady checks the security contexts and keeps the load running without a change.
func (w *shopScenario) steady(ctx context.Context, s *run.Step) error {
	if _, err := w.Restricted(ctx, w.namespace); err != nil {
		return err
	}
	return s.Pass(ctx, 5*time.Second)
}

// edit applies a merge patch to the shop. It retries, since the webhook may be unavailable.
func (w *shopScenario) edit(patch string) run.Action {
	return func(ctx context.Context, s *run.Step) error {
		return s.Until(ctx, "the change of the shop is accepted", func(ctx context.Context) error {
			return w.Patch(ctx, platform.Supersets, w.namespace, "shop", patch)
		})
	}
}

// serving returns an action that waits until the shop runs this image.
func (w *shopScenario) serving(image string) run.Action {
	return func(ctx context.Context, s *run.Step) error {
		w.image = image
		return w.serves(ctx, s)
	}
}

// serves waits until the shop matches its spec, its web server runs w.image, and the maintenance page has no pods.
func (w *shopScenario) serves(ctx context.Context, s *run.Step) error {
	what := fmt.Sprintf("the shop runs %s in %d pods", w.image, w.replicas)
	return w.until(ctx, s, what, func(o *unstructured.Unstructured) error {
		if err := Runs(o, w.image); err != nil {
			return err
		}
		web, err := w.Get(ctx, platform.Deployments, w.namespace, "shop-web-server")
		if err != nil {
			return err
		}
		if err := RolledOut(web, w.image, w.replicas); err != nil {
			return err
		}
		pods, err := w.List(ctx, cluster.Pod, w.namespace, client.MatchingLabels(componentLabels("maintenance-page")))
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("the maintenance page has pods %v", platform.Names(pods))
		}
		return err
	})
}

// until waits until check accepts the shop.
func (w *shopScenario) until(ctx context.Context, s *run.Step, what string, check func(*unstructured.Unstructured) error) error {
	return w.Object(platform.Supersets, w.namespace, "shop").Await(ctx, s, what, check)
}

// Runs returns the first difference from a Superset that runs image and matches its spec.
func Runs(o *unstructured.Unstructured, image string) error {
	for _, want := range []struct {
		value string
		path  []string
	}{
		{"Running", []string{"status", "phase"}},
		{"Complete", []string{"status", "lifecycle", "phase"}},
		{image, []string{"status", "lastLifecycleImage"}},
	} {
		if got := platform.Text(o, want.path...); got != want.value {
			return fmt.Errorf("%v is %q, want %q", want.path, got, want.value)
		}
	}
	if n := platform.Number(o, "status", "observedGeneration"); n != o.GetGeneration() {
		return fmt.Errorf("observedGeneration is %d, want %d", n, o.GetGeneration())
	}
	return errors.Join(platform.IsTrue(o, "LifecycleComplete"), platform.IsTrue(o, "Available"), platform.IsTrue(o, "Ready"))
}

// RolledOut returns an error unless a Deployment is rolled out with this image and number of replicas.
func RolledOut(d *unstructured.Unstructured, image string, replicas int64) error {
	containers, _, err := unstructured.NestedSlice(d.Object, "spec", "template", "spec", "containers")
	if err != nil {
		return err
	}
	for _, entry := range containers {
		if c, ok := entry.(map[string]any); ok && c["name"] == "superset" && c["image"] != image {
			return fmt.Errorf("%s runs %v", d.GetName(), c["image"])
		}
	}
	if n := platform.Number(d, "status", "observedGeneration"); n != d.GetGeneration() {
		return fmt.Errorf("%s: observedGeneration is %d, want %d", d.GetName(), n, d.GetGeneration())
	}
	if n := platform.Number(d, "spec", "replicas"); n != replicas {
		return fmt.Errorf("%s: spec.replicas is %d, want %d", d.GetName(), n, replicas)
	}
	for _, field := range []string{"replicas", "updatedReplicas", "availableReplicas"} {
		if n := platform.Number(d, "status", field); n != replicas {
			return fmt.Errorf("%s: status.%s is %d, want %d", d.GetName(), field, n, replicas)
		}
	}
	return nil
}

func componentLabels(component string) map[string]string {
	return map[string]string{"superset.apache.org/parent": "shop", "app.kubernetes.io/component": component}
}

// gets waits until a request of the current phase gets this page.
func (w *shopScenario) gets(page string) run.Action {
	return func(ctx context.Context, s *run.Step) error { return w.loadgen.WaitForClass(ctx, s, "200 "+page) }
}

// remove deletes the shop, waits until its objects are deleted, and checks that its database still exists.
func (w *shopScenario) remove(ctx context.Context, s *run.Step) error {
	if _, err := w.Kubectl(ctx, "", "delete", "superset", "shop", "-n", w.namespace, "--timeout=3m"); err != nil {
		return err
	}
	if err := s.Until(ctx, "the objects of the shop are deleted", func(ctx context.Context) error {
		return w.Leftovers(ctx, w.namespace, shopLabels, shopKinds...)
	}); err != nil {
		return err
	}
	rows, err := w.psql(ctx, "shop", "SELECT count(*) FROM dbs")
	if err == nil && rows != "3" {
		err = fmt.Errorf("the metastore of the deleted Superset has %q rows, want 3", rows)
	}
	return err
}
