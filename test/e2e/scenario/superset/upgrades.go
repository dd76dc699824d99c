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

// Upgrades upgrades a Superset and rotates its secret key, both of which change the metastore.
func Upgrades(p *platform.Platform) run.Scenario {
	w, s := supersetScenario(p, "superset-upgrades", "A Superset is installed with a database that the operator creates, upgraded "+
		"behind its maintenance page, and given another secret key, while users request its page.", []WebPhase{
		{Name: "steady", Pages: []string{OldPage}},
		{Name: "upgrade", Pages: []string{OldPage, MaintenancePage, NewPage}, Moves: true},
		{Name: "key rotation", Pages: []string{NewPage, MaintenancePage}, Moves: true},
		{Name: "first key removed", Pages: []string{NewPage}},
	})
	w.adapt = func(spec map[string]any) {
		for _, component := range []string{"celeryFlower", "websocketServer", "mcpServer"} {
			delete(spec, component) // superset-operations tests them
		}
		if lifecycle, ok := spec["lifecycle"].(map[string]any); ok {
			lifecycle["podRetention"] = map[string]any{"policy": "Retain"} // keep the pods of tasks for the checks below
		}
	}
	s.Phases = []run.Phase{
		{Name: "steady", Do: w.firstRows},
		{Name: "upgrade", Do: run.InOrder(
			w.Edit(`{"spec":{"image":{"tag":"6.1.0"}}}`), w.behindPage, w.serving(newImage), w.Gets(NewPage), w.migrated)},
		{Name: "key rotation", Do: run.InOrder(w.rotate, w.behindPage, w.serves, w.Gets(NewPage), w.rotated)},
		// The restarted pods must still read every secret.
		{Name: "first key removed", Do: run.InOrder(
			w.Edit(`{"spec":{"previousSecretKeyFrom":null,"lifecycle":{"rotate":null}}}`), w.serves)},
		{Name: "delete", Outage: true, Do: w.remove},
	}
	return s
}

// firstRows checks that the first key encrypts the secrets of the metastore.
func (w *shopScenario) firstRows(ctx context.Context, s *run.Step) error {
	if err := w.Steady(ctx, s); err != nil {
		return err
	}
	rows, err := w.rows(ctx)
	if err != nil {
		return err
	}
	return decryptOnlyWith(rows, firstKey, secondKey)
}

// migrated checks the column that the migration of 6.1 adds. The retained pods of tasks must be as restricted as all others.
func (w *shopScenario) migrated(ctx context.Context, s *run.Step) error {
	found, err := w.psql(ctx, "shop", "SELECT count(*) FROM information_schema.columns WHERE column_name = 'configuration_method'")
	if err != nil {
		return err
	}
	if found != "1" {
		return fmt.Errorf("the metastore has %q columns of 6.1, want 1", found)
	}
	tasks, err := w.List(ctx, cluster.Pod, w.Namespace, client.MatchingLabels(w.componentLabels("init")))
	if err == nil && len(tasks) < 2 {
		err = fmt.Errorf("got pods %v of init tasks, want at least two", platform.Names(tasks))
	}
	if err != nil {
		return err
	}
	n, err := w.Restricted(ctx, w.Namespace)
	s.Note("%d containers, those of %d tasks among them, run as nonroot with a read-only root.", n, len(tasks))
	return err
}

// behindPage waits until users get the maintenance page, and checks which pods serve it.
func (w *shopScenario) behindPage(ctx context.Context, s *run.Step) error {
	if err := w.Gets(MaintenancePage)(ctx, s); err != nil {
		return err
	}
	_, err := w.Restricted(ctx, w.Namespace)
	return err
}

// rotate starts the rotation of the secret key.
func (w *shopScenario) rotate(ctx context.Context, s *run.Step) error {
	secret := fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"shop-2"},"stringData":{"secret-key":%q}}`, secondKey)
	if err := w.Apply(ctx, w.Namespace, secret); err != nil {
		return err
	}
	return w.Edit(`{"spec":{"secretKeyFrom":{"name":"shop-2","key":"secret-key"},
		"previousSecretKeyFrom":{"name":"shop","key":"secret-key"},"lifecycle":{"rotate":{}}}}`)(ctx, s)
}

// rotated checks that only the second key decrypts the secrets of the metastore.
func (w *shopScenario) rotated(ctx context.Context, s *run.Step) error {
	rows, err := w.rows(ctx)
	if err != nil {
		return err
	}
	if err := decryptOnlyWith(rows, secondKey, firstKey); err != nil {
		return err
	}
	s.Note("Only the second key decrypts the %d secrets in the metastore; before the rotation only the first key did.", len(rows))
	return nil
}
