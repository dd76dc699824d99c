package superset

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

// Web is a Superset whose pages users request.
type Web struct {
	*platform.Platform
	Namespace, Name string
	Title           string // of the maintenance page
	Loadgen         *cluster.Loadgen
}

// StubPage returns the pattern of a page of a release of the stub.
func StubPage(release string) string {
	return "superset page: version=" + regexp.QuoteMeta(release) + " "
}

// StartUsers starts a load generator that requests a path of the web server. pattern returns the pattern of a page of a
// release. args are further arguments of the load generator.
func (w *Web) StartUsers(
	ctx context.Context, s *run.Step, path string, pattern func(release string) string, args ...string,
) (run.Loadgen, error) {
	// Use the cluster IP: it must stay the same when pods change, and a busy DNS server cannot cause failures.
	service, err := w.Get(ctx, platform.Services, w.Namespace, w.Name+"-web-server")
	if err != nil {
		return nil, err
	}
	w.Loadgen, err = w.StartLoadgen(ctx, s, w.Namespace, "loadgen", append(args,
		"--url", "http://"+net.JoinHostPort(platform.Text(service, "spec", "clusterIP"), "8088")+path, "--retry-drained",
		"--label", OldPage+"="+pattern("6.0.0"), "--label", NewPage+"="+pattern("6.1.0"), "--label", MaintenancePage+"=<h1>"+w.Title,
		"--good", OldPage, "--good", NewPage, "--good", MaintenancePage)...)
	return w.Loadgen, err
}

// Until waits until check accepts the Superset.
func (w *Web) Until(ctx context.Context, s *run.Step, what string, check func(*unstructured.Unstructured) error) error {
	return w.object().Await(ctx, s, what, check)
}

func (w *Web) object() platform.Object { return w.Object(platform.Supersets, w.Namespace, w.Name) }

// Edit applies a merge patch to the Superset.
func (w *Web) Edit(patch string) run.Action {
	return func(ctx context.Context, s *run.Step) error { return w.object().Edit(ctx, s, patch) }
}

// SetTag changes the tag of the image.
func (w *Web) SetTag(tag string) run.Action {
	return w.Edit(fmt.Sprintf(`{"spec":{"image":{"tag":%q}}}`, tag))
}

// Gets waits until a request of the current phase gets this page.
func (w *Web) Gets(page string) run.Action {
	return func(ctx context.Context, s *run.Step) error { return w.Loadgen.WaitForClass(ctx, s, "200 "+page) }
}

// Steady checks the security contexts and keeps the load running without a change.
func (w *Web) Steady(ctx context.Context, s *run.Step) error {
	if _, err := w.Restricted(ctx, w.Namespace); err != nil {
		return err
	}
	return s.Pass(ctx, 5*time.Second)
}

// Serves waits until the Superset matches its spec, its web server runs the image in this number of pods, and the
// maintenance page has no pods.
func (w *Web) Serves(image string, replicas int64) run.Action {
	return func(ctx context.Context, s *run.Step) error {
		what := fmt.Sprintf("%s runs %s in %d pods", w.Name, image, replicas)
		return w.Until(ctx, s, what, func(o *unstructured.Unstructured) error {
			if err := Runs(o, image); err != nil {
				return err
			}
			web, err := w.Get(ctx, platform.Deployments, w.Namespace, w.Name+"-web-server")
			if err != nil {
				return err
			}
			if err := RolledOut(web, image, replicas); err != nil {
				return err
			}
			pods, err := w.List(ctx, cluster.Pod, w.Namespace, client.MatchingLabels(w.componentLabels("maintenance-page")))
			if err == nil && len(pods) > 0 {
				err = fmt.Errorf("the maintenance page has pods %v", platform.Names(pods))
			}
			return err
		})
	}
}

func (w *Web) componentLabels(component string) map[string]string {
	return map[string]string{"superset.apache.org/parent": w.Name, "app.kubernetes.io/component": component}
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
