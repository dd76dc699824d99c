package superset

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
	"github.com/flotilla-dev/flotilla/test/e2e/timeline"
)

const (
	repairNamespace = "superset-repair"
	tillImage       = "flotilla-e2e/superset-stub:"
)

// tillScenario is the Superset of superset-repair.yaml.
type tillScenario struct {
	*platform.Platform
	loadgen   *cluster.Loadgen
	startedAt string // startedAt of the last migration in the status
}

// Repair upgrades to a release whose migration fails and to an image that does not exist, and recovers from both.
func Repair(p *platform.Platform) run.Scenario {
	t := &tillScenario{Platform: p}
	closing := []string{OldPage, MaintenancePage}
	rules := []WebPhase{
		{Name: "steady", Pages: []string{OldPage}},
		{Name: "failed migration", Pages: closing, Moves: true},
		{Name: "abandoned", Pages: []string{MaintenancePage}},
		{Name: "reverted to the old image", Pages: closing, Moves: true},
		{Name: "second failed migration", Pages: closing, Moves: true},
		{Name: "fixed image", Pages: []string{MaintenancePage, NewPage}, Moves: true},
		{Name: "missing image", Pages: []string{NewPage}},
		{Name: "reverted to the running image", Pages: []string{NewPage}},
		{Name: "steady again", Pages: []string{NewPage}},
	}
	note := func(string, ...any) {}
	return run.Scenario{
		Name: repairNamespace, Limit: 20 * time.Minute, Services: []string{"superset-operator"},
		Title: "A Superset is upgraded to a release whose migration fails, reverted, upgraded to it again, and then to a release that " +
			"works; then an image cannot be pulled. Users see the page or the maintenance page, and an image that cannot be pulled " +
			"changes no page.",
		Watch: []timeline.Object{{GVK: platform.Supersets, Namespace: repairNamespace, Name: "till"}},
		Prepare: func(ctx context.Context, s *run.Step) (run.Loadgen, error) {
			note = s.Note
			return t.prepare(ctx, s)
		},
		Phases: []run.Phase{
			{Name: "steady", Do: t.steady},
			{Name: "failed migration", Do: t.upgradeFails("broken")},
			{Name: "abandoned", Do: t.waitForFailure},
			{Name: "reverted to the old image", Do: t.backTo("6.0.0", MaintenancePage, OldPage)},
			{Name: "second failed migration", Do: t.upgradeFails("broken")},
			{Name: "fixed image", Do: t.fixed},
			{Name: "missing image", Do: t.nowhere},
			{Name: "reverted to the running image", Do: t.backTo("6.1.0", NewPage, NewPage)},
			{Name: "steady again", Do: t.steady},
		},
		Evaluate: EvaluateWeb(rules, func(format string, args ...any) { note(format, args...) }),
		Clean:    func(ctx context.Context, _ *run.Step) error { return p.RemoveNamespace(ctx, repairNamespace) },
	}
}

func (t *tillScenario) prepare(ctx context.Context, s *run.Step) (run.Loadgen, error) {
	if err := t.MakeNamespace(ctx, repairNamespace); err != nil {
		return nil, err
	}
	objects, err := t.Sample("superset-databases.yaml", "mysql", "valkey")
	if err != nil {
		return nil, err
	}
	if err := t.ApplyObjects(ctx, repairNamespace, objects); err != nil {
		return nil, err
	}
	if err := t.Ready(ctx, s, repairNamespace, map[string]string{"app": "postgres"}, 1); err != nil {
		return nil, err
	}
	if err := t.ApplyManifest(ctx, repairNamespace, "superset-repair.yaml"); err != nil {
		return nil, err
	}
	if err := t.serves(ctx, s, "6.0.0"); err != nil {
		return nil, err
	}
	t.loadgen, err = t.StartLoadgen(ctx, s, repairNamespace, "loadgen",
		"--url", fmt.Sprintf("http://till-web-server.%s.svc.cluster.local:8088/", repairNamespace),
		"--clients", "6", "--rate", "10", "--timeout", "20s", "--retry-drained",
		"--label", OldPage+`=superset page: version=6\.0\.0 `, "--label", NewPage+`=superset page: version=6\.1\.0 `,
		"--label", MaintenancePage+`=<h1>The till is closed for a moment</h1>`,
		"--good", OldPage, "--good", NewPage, "--good", MaintenancePage)
	return t.loadgen, err
}

// steady checks the security contexts and keeps the load running without a change.
func (t *tillScenario) steady(ctx context.Context, s *run.Step) error {
	if n, err := t.Restricted(ctx, repairNamespace); err != nil || n == 0 {
		return fmt.Errorf("checked %d containers of %s: %w", n, repairNamespace, err)
	}
	return s.Pass(ctx, 3*time.Second)
}

// serves waits until the till runs the image with this tag and the maintenance page has no pods.
func (t *tillScenario) serves(ctx context.Context, s *run.Step, tag string) error {
	if err := t.waitFor(ctx, s, "the till runs "+tag, func(o *unstructured.Unstructured) error {
		return Runs(o, tillImage+tag)
	}); err != nil {
		return err
	}
	page := map[string]string{"superset.apache.org/parent": "till", "app.kubernetes.io/component": "maintenance-page"}
	return t.Ready(ctx, s, repairNamespace, page, 0)
}

func (t *tillScenario) waitFor(ctx context.Context, s *run.Step, what string, check func(*unstructured.Unstructured) error) error {
	return s.Until(ctx, what, func(ctx context.Context) error {
		o, err := t.Get(ctx, platform.Supersets, repairNamespace, "till")
		if err != nil {
			return err
		}
		return check(o)
	})
}

func (t *tillScenario) setTag(ctx context.Context, tag string) error {
	return t.Patch(ctx, platform.Supersets, repairNamespace, "till", fmt.Sprintf(`{"spec":{"image":{"tag":%q}}}`, tag))
}

// waitForClass waits until a request of the current phase gets the page.
func (t *tillScenario) waitForClass(ctx context.Context, s *run.Step, class string) error {
	return s.Until(ctx, "a request gets the "+class, func(ctx context.Context) error {
		phases, err := t.loadgen.Figures(ctx)
		if err != nil {
			return err
		}
		if now := phases[len(phases)-1]; now.Classes["200 "+class] == 0 {
			return fmt.Errorf("phase %s has answers %v", now.Phase, now.Classes)
		}
		return nil
	})
}

// upgradeFails upgrades to a release whose migration fails in both attempts, and requires the cause in the status.
func (t *tillScenario) upgradeFails(tag string) func(context.Context, *run.Step) error {
	return func(ctx context.Context, s *run.Step) error {
		if err := t.waitForClass(ctx, s, OldPage); err != nil {
			return err
		}
		if err := t.setTag(ctx, tag); err != nil {
			return err
		}
		var o *unstructured.Unstructured
		if err := t.waitFor(ctx, s, "the migration has failed permanently", func(now *unstructured.Unstructured) error {
			o = now
			return failedFor(o)
		}); err != nil {
			return err
		}
		t.startedAt = platform.Text(o, "status", "lifecycle", "migrate", "startedAt")
		s.Note("Message of LifecycleComplete: %s", message(o, "LifecycleComplete"))
		if err := t.verifyEvents(ctx, s); err != nil {
			return err
		}
		return t.waitForClass(ctx, s, MaintenancePage)
	}
}

// waitForFailure checks that the operator does not retry the migration, and that the web server does not run.
func (t *tillScenario) waitForFailure(ctx context.Context, s *run.Step) error {
	if err := s.Pass(ctx, 5*time.Second); err != nil {
		return err
	}
	o, err := t.Get(ctx, platform.Supersets, repairNamespace, "till")
	if err != nil {
		return err
	}
	_, err = t.Get(ctx, platform.Deployments, repairNamespace, "till-web-server")
	if err == nil {
		return errors.New("the web server runs with a metastore in an unknown state")
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	return failedFor(o)
}

// backTo reverts to an image for which the metastore is already migrated: its components start without a task. Users must
// see the page named by before until then, and page afterwards.
func (t *tillScenario) backTo(tag, before, page string) func(context.Context, *run.Step) error {
	return func(ctx context.Context, s *run.Step) error {
		if err := t.waitForClass(ctx, s, before); err != nil {
			return err
		}
		if err := t.setTag(ctx, tag); err != nil {
			return err
		}
		if err := t.serves(ctx, s, tag); err != nil {
			return err
		}
		o, err := t.Get(ctx, platform.Supersets, repairNamespace, "till")
		if err != nil {
			return err
		}
		if now := platform.Text(o, "status", "lifecycle", "migrate", "startedAt"); now != t.startedAt {
			return fmt.Errorf("a migration started at %s, although the metastore was already migrated for %s; the previous one started at %s",
				now, tag, t.startedAt)
		}
		return t.waitForClass(ctx, s, page)
	}
}

// fixed upgrades to a release whose migration succeeds.
func (t *tillScenario) fixed(ctx context.Context, s *run.Step) error {
	if err := t.waitForClass(ctx, s, MaintenancePage); err != nil {
		return err
	}
	if err := t.setTag(ctx, "6.1.0"); err != nil {
		return err
	}
	if err := t.serves(ctx, s, "6.1.0"); err != nil {
		return err
	}
	return t.waitForClass(ctx, s, NewPage)
}

// nowhere upgrades to an image that cannot be pulled. The status must name this cause without waiting for the deadline of
// the attempt, and the running image must keep serving, since the preflight pulls the new one first.
func (t *tillScenario) nowhere(ctx context.Context, s *run.Step) error {
	if err := t.waitForClass(ctx, s, NewPage); err != nil {
		return err
	}
	if err := t.setTag(ctx, "6.9.9"); err != nil {
		return err
	}
	startedAt := s.Now()
	if err := t.waitFor(ctx, s, "Degraded names the failed image pull", func(o *unstructured.Unstructured) error {
		t.startedAt = platform.Text(o, "status", "lifecycle", "migrate", "startedAt")
		return checkMessages(o, "False TaskCannotStart", "True ImagePull", "an image cannot be pulled")
	}); err != nil {
		return err
	}
	s.Note("The status named the failed image pull after %.0f s.", s.Now().Sub(startedAt).Seconds())
	return s.Pass(ctx, 3*time.Second)
}
