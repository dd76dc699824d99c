// Package repair contains the scenario of failed upgrades.
package repair

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/superset"
	"github.com/flotilla-dev/flotilla/test/e2e/timeline"
)

const (
	namespace = "superset-repair"
	image     = "flotilla-e2e/superset-stub:"
)

// scenario is the Superset of superset-repair.yaml.
type scenario struct {
	*superset.Web
	startedAt string // startedAt of the last migration in the status
}

// Upgrades changes to a release whose migration fails and to an image that does not exist, and recovers from both.
func Upgrades(p *platform.Platform) run.Scenario {
	t := &scenario{Web: &superset.Web{Platform: p, Namespace: namespace, Name: "till", Title: "The till is closed for a moment"}}
	closing := []string{superset.OldPage, superset.MaintenancePage}
	rules := []superset.WebPhase{
		{Name: "steady", Pages: []string{superset.OldPage}},
		{Name: "failed migration", Pages: closing, Moves: true},
		{Name: "abandoned", Pages: []string{superset.MaintenancePage}},
		{Name: "reverted to the old image", Pages: closing, Moves: true},
		{Name: "second failed migration", Pages: closing, Moves: true},
		{Name: "fixed image", Pages: []string{superset.MaintenancePage, superset.NewPage}, Moves: true},
		{Name: "missing image", Pages: []string{superset.NewPage}},
		{Name: "reverted to the running image", Pages: []string{superset.NewPage}},
		{Name: "steady again", Pages: []string{superset.NewPage}},
	}
	return run.Scenario{
		Name: namespace, Limit: 20 * time.Minute, Services: []string{"superset-operator"},
		Title: "A Superset is upgraded to a release whose migration fails, reverted, upgraded to it again, and then to a release that " +
			"works; then an image cannot be pulled. Users see the page or the maintenance page, and an image that cannot be pulled " +
			"changes no page.",
		Watch:   []timeline.Object{{GVK: platform.Supersets, Namespace: namespace, Name: "till"}},
		Prepare: t.prepare,
		Phases: []run.Phase{
			{Name: "steady", Do: t.Steady},
			{Name: "failed migration", Do: t.upgradeFails("broken")},
			{Name: "abandoned", Do: t.waitForFailure},
			{Name: "reverted to the old image", Do: t.backTo("6.0.0", superset.MaintenancePage, superset.OldPage)},
			{Name: "second failed migration", Do: t.upgradeFails("broken")},
			{Name: "fixed image", Do: run.InOrder(
				t.Gets(superset.MaintenancePage), t.SetTag("6.1.0"), t.serves("6.1.0"), t.Gets(superset.NewPage))},
			{Name: "missing image", Do: run.InOrder(t.Gets(superset.NewPage), t.SetTag("6.9.9"), t.cannotPull)},
			{Name: "reverted to the running image", Do: t.backTo("6.1.0", superset.NewPage, superset.NewPage)},
			{Name: "steady again", Do: t.Steady},
		},
		Evaluate: superset.EvaluateWeb(rules),
		Clean:    func(ctx context.Context, _ *run.Step) error { return p.RemoveNamespace(ctx, namespace) },
	}
}

func (t *scenario) prepare(ctx context.Context, s *run.Step) (run.Loadgen, error) {
	if err := t.MakeNamespace(ctx, namespace); err != nil {
		return nil, err
	}
	if err := t.ApplySample(ctx, namespace, "superset-databases.yaml", "mysql", "valkey"); err != nil {
		return nil, err
	}
	if err := t.Ready(ctx, s, namespace, map[string]string{"app": "postgres"}, 1); err != nil {
		return nil, err
	}
	if err := t.ApplyManifest(ctx, namespace, "superset-repair.yaml"); err != nil {
		return nil, err
	}
	if err := t.serves("6.0.0")(ctx, s); err != nil {
		return nil, err
	}
	return t.StartUsers(ctx, s, "/", superset.StubPage, "--clients", "6", "--rate", "10", "--timeout", "20s")
}

func (t *scenario) serves(tag string) run.Action { return t.Serves(image+tag, 1) }

// upgradeFails upgrades to a release whose migration fails in both attempts, and requires the cause in the status.
func (t *scenario) upgradeFails(tag string) run.Action {
	return run.InOrder(t.Gets(superset.OldPage), t.SetTag(tag), t.migrationFails, t.verifyEvents, t.Gets(superset.MaintenancePage))
}

func (t *scenario) migrationFails(ctx context.Context, s *run.Step) error {
	return t.Until(ctx, s, "the migration has failed permanently", func(o *unstructured.Unstructured) error {
		err := failedFor(o)
		if err == nil {
			t.startedAt = platform.Text(o, "status", "lifecycle", "migrate", "startedAt")
			s.Note("Message of LifecycleComplete: %s", message(o, "LifecycleComplete"))
		}
		return err
	})
}

// waitForFailure checks that the operator does not retry the migration, and that the web server does not run.
func (t *scenario) waitForFailure(ctx context.Context, s *run.Step) error {
	if err := s.Pass(ctx, 5*time.Second); err != nil {
		return err
	}
	o, err := t.Get(ctx, platform.Supersets, namespace, "till")
	if err != nil {
		return err
	}
	_, err = t.Get(ctx, platform.Deployments, namespace, "till-web-server")
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
func (t *scenario) backTo(tag, before, page string) run.Action {
	return run.InOrder(t.Gets(before), t.SetTag(tag), t.serves(tag), t.noMigration, t.Gets(page))
}

// noMigration returns an error if another migration started, although the metastore was already migrated.
func (t *scenario) noMigration(ctx context.Context, _ *run.Step) error {
	o, err := t.Get(ctx, platform.Supersets, namespace, "till")
	if err != nil {
		return err
	}
	if now := platform.Text(o, "status", "lifecycle", "migrate", "startedAt"); now != t.startedAt {
		return fmt.Errorf("a migration started at %s, although the metastore was already migrated; the previous one started at %s",
			now, t.startedAt)
	}
	return nil
}

// cannotPull requires that the status names the failed image pull without waiting for the deadline of the attempt. The
// running image must keep serving, since the preflight pulls the new one first.
func (t *scenario) cannotPull(ctx context.Context, s *run.Step) error {
	startedAt := s.Now()
	if err := t.Until(ctx, s, "Degraded names the failed image pull", func(o *unstructured.Unstructured) error {
		t.startedAt = platform.Text(o, "status", "lifecycle", "migrate", "startedAt")
		return checkMessages(o, "False TaskCannotStart", "True ImagePull", "an image cannot be pulled")
	}); err != nil {
		return err
	}
	s.Note("The status named the failed image pull after %.0f s.", s.Now().Sub(startedAt).Seconds())
	return s.Pass(ctx, 3*time.Second)
}
