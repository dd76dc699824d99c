// Package product contains the scenario of Apache Superset itself.
package product

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/superset"
	"github.com/flotilla-dev/flotilla/test/e2e/timeline"
)

const (
	namespace = "superset-product"
	// manifest is the manifest that `make up NODE=real` installs.
	manifest    = "deploy/real-node/superset.yaml"
	name        = "example"
	credentials = "admin:admin"
	image       = "flotilla-e2e/superset:"
	steady      = "steady" // phase in which the first logins are
)

// scenario runs Apache Superset itself instead of the stub.
type scenario struct{ *superset.Web }

// Upgrade upgrades Apache Superset itself while users are logged in.
func Upgrade(p *platform.Platform) run.Scenario {
	w := &scenario{&superset.Web{Platform: p, Namespace: namespace, Name: name, Title: "Superset is being upgraded"}}
	return run.Scenario{
		Name: namespace, Limit: 25 * time.Minute, Services: []string{"superset-operator"},
		Title: "Apache Superset 6.0 itself is installed and upgraded to 6.1 behind its maintenance page, while twenty users that " +
			"are logged in request its pages. No session is lost, and a browser logs in and makes a chart.",
		Watch:   []timeline.Object{{GVK: platform.Supersets, Namespace: namespace, Name: name}},
		Prepare: w.prepare,
		Phases: []run.Phase{
			{Name: steady, Do: w.login("before.png")},
			{Name: "upgrade", Do: w.upgrade},
			{Name: "upgraded", Do: w.login("after.png")},
			{Name: "chart", Do: w.chart},
		},
		Evaluate: evaluate,
		Clean:    func(ctx context.Context, _ *run.Step) error { return p.RemoveNamespace(ctx, namespace) },
	}
}

// evaluate checks the pages of each phase, and the time that the first logins take.
func evaluate(s *run.Step, phases []load.Figures) error {
	return errors.Join(checkLogins(phases), superset.EvaluateWeb([]superset.WebPhase{
		{Name: steady, Pages: []string{superset.OldPage}},
		{Name: "upgrade", Pages: []string{superset.OldPage, superset.MaintenancePage, superset.NewPage}, Moves: true},
		{Name: "upgraded", Pages: []string{superset.NewPage}},
		{Name: "chart", Pages: []string{superset.NewPage}},
	})(s, phases))
}

// maxLoginGap limits the time without an answer while twenty users log in for the first time. A busy web server takes long
// for the hash of a password, but each user waits at most for the timeout of a request.
const maxLoginGap = 60.0

func checkLogins(phases []load.Figures) error {
	for _, f := range phases {
		if f.Phase == steady && f.LongestGap > maxLoginGap {
			return fmt.Errorf("no answer for %.1f s during the first logins, more than %.0f s", f.LongestGap, maxLoginGap)
		}
	}
	return nil
}

// prepare installs the older release with its metastore, and starts twenty clients that log in.
func (w *scenario) prepare(ctx context.Context, s *run.Step) (run.Loadgen, error) {
	if err := w.MakeNamespace(ctx, namespace); err != nil {
		return nil, err
	}
	objects, err := w.Objects(manifest)
	if err != nil {
		return nil, err
	}
	var kept []*unstructured.Unstructured
	for _, o := range objects {
		if o.GetKind() == "Namespace" {
			continue // the scenario has its own
		}
		o.SetNamespace(namespace)
		if o.GetKind() == platform.Supersets.Kind {
			if err := adapt(o.Object); err != nil {
				return nil, err
			}
		}
		kept = append(kept, o)
	}
	if err := w.ApplyObjects(ctx, namespace, kept); err != nil {
		return nil, err
	}
	startedAt := s.Now()
	if err := w.Serves(image+"6.0.0", 1)(ctx, s); err != nil {
		return nil, err
	}
	s.Note("Superset 6.0.0 and its metastore were installed in %.0f s.", s.Now().Sub(startedAt).Seconds())
	return w.StartUsers(ctx, s, "/superset/welcome/", pageOf, "--clients", "20", "--rate", "2", "--timeout", "60s", "--login", credentials)
}

// adapt changes the Superset of manifest for the scenario: it starts with the older release.
func adapt(superset map[string]any) error {
	unstructured.RemoveNestedField(superset, "spec", "webServer", "service", "nodePort") // the port may be in use
	// A busy node must not take the only web server out of its Service.
	ready := map[string]any{
		"httpGet":       map[string]any{"path": "/health", "port": int64(8088)},
		"periodSeconds": int64(5), "timeoutSeconds": int64(15), "failureThreshold": int64(12),
	}
	return errors.Join(
		unstructured.SetNestedField(superset, "6.0.0", "spec", "image", "tag"),
		unstructured.SetNestedMap(superset, ready, "spec", "webServer", "podTemplate", "container", "readinessProbe"),
	)
}

// pageOf returns the pattern of a page of the release for a user that is logged in.
func pageOf(release string) string {
	return fmt.Sprintf(`(?s)username&#34;: &#34;admin.*version_string&#34;: &#34;%s&#34;`, release)
}

// upgrade changes the release, and notes the duration of the maintenance page and the downtime.
func (w *scenario) upgrade(ctx context.Context, s *run.Step) error {
	if err := run.InOrder(w.SetTag("6.1.0"), w.Gets(superset.MaintenancePage))(ctx, s); err != nil {
		return err
	}
	closed := s.Now()
	if err := w.Gets(superset.NewPage)(ctx, s); err != nil {
		return err
	}
	open := s.Now()
	if err := w.Serves(image+"6.1.0", 1)(ctx, s); err != nil {
		return err
	}
	o, err := w.Get(ctx, platform.Supersets, namespace, name)
	if err != nil {
		return err
	}
	s.Note("Users had the maintenance page for %.0f s.", open.Sub(closed).Seconds())
	return w.checkDowntime(ctx, s, o)
}

// maxDowntimeRatio limits the downtime to a multiple of what the product itself takes: migrate, init, and one start of
// the web server. The budget of an idle node is in docs/budgets.md; on a busy one, pods start late.
const maxDowntimeRatio = 1.5

// checkDowntime notes the downtime in the status and its parts.
func (w *scenario) checkDowntime(ctx context.Context, s *run.Step, o *unstructured.Unstructured) error {
	pods, err := w.List(ctx, cluster.Pod, namespace, client.MatchingLabels{
		"superset.apache.org/parent": name, "app.kubernetes.io/component": "web-server",
	})
	if err != nil || len(pods) != 1 {
		return errors.Join(fmt.Errorf("got %d pods of the web server, want 1", len(pods)), err)
	}
	var own time.Duration
	var problems []error
	add := func(object any, from, to string) time.Duration {
		length, err := timeBetween(object, from, to)
		problems = append(problems, err)
		return length
	}
	const status = "{.status.lifecycle."
	own += add(o.Object, status+"migrate.startedAt}", status+"migrate.completedAt}")
	own += add(o.Object, status+"init.startedAt}", status+"init.completedAt}")
	own += add(pods[0].Object, "{.status.containerStatuses[0].state.running.startedAt}", `{.status.conditions[?(@.type=="Ready")].lastTransitionTime}`)
	drain := add(o.Object, status+"downtime.startedAt}", status+"downtime.drainedAt}")
	tasks := add(o.Object, status+"downtime.drainedAt}", status+"downtime.tasksCompletedAt}")
	start := add(o.Object, status+"downtime.tasksCompletedAt}", status+"downtime.endedAt}")
	if err := errors.Join(problems...); err != nil {
		return err
	}
	total := drain + tasks + start
	ratio := total.Seconds() / own.Seconds()
	s.Note("Downtime %.0f s: drain %.0f s, tasks %.0f s, start of the web server %.0f s; %.2f times the %.0f s of migrate, init and the web server itself.",
		total.Seconds(), drain.Seconds(), tasks.Seconds(), start.Seconds(), ratio, own.Seconds())
	if ratio > maxDowntimeRatio {
		return fmt.Errorf("the downtime is %.2f times what the product takes, more than %.2f", ratio, maxDowntimeRatio)
	}
	return nil
}

// timeBetween returns the time between two timestamps of an object, which are given as JSONPath.
func timeBetween(object any, from, to string) (time.Duration, error) {
	var times [2]time.Time
	for i, path := range []string{from, to} {
		expression, out := jsonpath.New(path), strings.Builder{}
		if err := errors.Join(expression.Parse(path), expression.Execute(&out, object)); err != nil {
			return 0, err
		}
		var err error
		if times[i], err = time.Parse(time.RFC3339, out.String()); err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
	}
	return times[1].Sub(times[0]), nil
}

// login logs in with a browser and saves a screenshot in the report's directory.
func (w *scenario) login(screenshotFile string) run.Action {
	return func(ctx context.Context, s *run.Step) error {
		address, err := w.NodePort(ctx, namespace, name+"-web-server")
		if err != nil {
			return err
		}
		file := filepath.Join(w.ScreenshotDir, namespace+"-"+screenshotFile)
		if err := browse(ctx, "http://"+address, credentials, file, func(context.Context) error { return nil }); err != nil {
			return fmt.Errorf("log in with a browser: %w", err)
		}
		s.Note("A browser logged in; the screenshot is %s.", filepath.Base(file))
		return s.Pass(ctx, 5*time.Second)
	}
}
