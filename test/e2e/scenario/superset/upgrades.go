package superset

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

const secondKey = "the second key of the shop, as long as the first one was"

// Upgrades changes what the metastore depends on.
func Upgrades(p *platform.Platform) run.Scenario {
	w, s := supersetScenario(p, "superset-upgrades", "A Superset is installed with a database of its own making, upgraded "+
		"behind its maintenance page, and given another secret key, while users request its page.", []WebPhase{
		{Name: "steady", Pages: []string{OldPage}},
		{Name: "upgrade", Pages: []string{OldPage, MaintenancePage, NewPage}, Moves: true},
		{Name: "another secret key", Pages: []string{NewPage, MaintenancePage}, Moves: true},
		{Name: "the first key is forgotten", Pages: []string{NewPage}},
	})
	w.adapt = func(spec map[string]any) {
		for _, component := range []string{"celeryFlower", "websocketServer", "mcpServer"} {
			delete(spec, component) // superset-operations has them
		}
		if lifecycle, ok := spec["lifecycle"].(map[string]any); ok {
			lifecycle["podRetention"] = map[string]any{"policy": "Retain"} // so that the tasks' pods can be checked
		}
	}
	s.Phases = []run.Phase{
		{Name: "steady", Do: w.firstRows},
		{Name: "upgrade", Do: w.upgrade},
		{Name: "another secret key", Do: w.rotate},
		{Name: "the first key is forgotten", Do: w.forget},
		{Name: "delete", Outage: true, Do: w.remove},
	}
	return s
}

// firstRows checks the rows of the tasks, and who wrote them.
func (w *shop) firstRows(ctx context.Context, s *run.Step) error {
	if err := w.steady(ctx, s); err != nil || w.Simulated {
		return err
	}
	rows, err := w.rows(ctx)
	if err != nil {
		return err
	}
	return onlyOpenedBy(rows, firstKey, secondKey)
}

func (w *shop) upgrade(ctx context.Context, s *run.Step) error {
	if err := w.edit(ctx, s, `{"spec":{"image":{"tag":"6.1.0"}}}`); err != nil {
		return err
	}
	if err := w.behindPage(ctx, s); err != nil {
		return err
	}
	w.image = newImage
	if err := w.serves(ctx, s); err != nil {
		return err
	}
	if err := w.seen(ctx, s, "200 "+NewPage); err != nil || w.Simulated {
		return err
	}
	// The column that 6.1 brings; the tasks' pods, which are kept, are as restricted as all others.
	found, err := w.psql(ctx, "shop", "SELECT count(*) FROM information_schema.columns WHERE column_name = 'configuration_method'")
	if err != nil {
		return err
	}
	if found != "1" {
		return fmt.Errorf("the metastore has %q columns of 6.1 instead of 1", found)
	}
	tasks, err := w.List(ctx, cluster.Pod, w.namespace, client.MatchingLabels(componentLabels("init")))
	if err == nil && len(tasks) < 2 {
		err = fmt.Errorf("there are the pods %v of tasks instead of two", platform.Names(tasks))
	}
	if err != nil {
		return err
	}
	n, err := w.Restricted(ctx, w.namespace)
	s.Note("%d containers, those of %d tasks among them, run as nonroot with a read-only root.", n, len(tasks))
	return err
}

// behindPage waits until users get the maintenance page, and checks which pods serve it.
func (w *shop) behindPage(ctx context.Context, s *run.Step) error {
	if w.Simulated {
		return nil
	}
	if err := w.seen(ctx, s, "200 "+MaintenancePage); err != nil {
		return err
	}
	_, err := w.Restricted(ctx, w.namespace)
	return err
}

// rotate gives the shop another secret key. The secrets in the rows are read here with either key, before and after.
func (w *shop) rotate(ctx context.Context, s *run.Step) error {
	secret := fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"shop-2"},"stringData":{"secret-key":%q}}`, secondKey)
	if err := w.Apply(ctx, w.namespace, secret); err != nil {
		return err
	}
	if err := w.edit(ctx, s, `{"spec":{"secretKeyFrom":{"name":"shop-2","key":"secret-key"},
		"previousSecretKeyFrom":{"name":"shop","key":"secret-key"},"lifecycle":{"rotate":{}}}}`); err != nil {
		return err
	}
	if err := w.behindPage(ctx, s); err != nil {
		return err
	}
	if err := w.serves(ctx, s); err != nil {
		return err
	}
	if err := w.seen(ctx, s, "200 "+NewPage); err != nil || w.Simulated {
		return err
	}
	rows, err := w.rows(ctx)
	if err != nil {
		return err
	}
	if err := onlyOpenedBy(rows, secondKey, firstKey); err != nil {
		return err
	}
	s.Note("%d secrets in the metastore were opened by the first key alone, and are opened by the second alone.", len(rows))
	return nil
}

// forget takes the first key out of the spec, as one does after a rotation: pods roll, and still read every secret.
func (w *shop) forget(ctx context.Context, s *run.Step) error {
	if err := w.edit(ctx, s, `{"spec":{"previousSecretKeyFrom":null,"lifecycle":{"rotate":null}}}`); err != nil {
		return err
	}
	return w.serves(ctx, s)
}
