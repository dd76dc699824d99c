package superset

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

// Operations tests the routine operations: remove components, suspend, resume, approve an upgrade, stop, start, delete.
func Operations(p *platform.Platform) run.Scenario {
	w, s := supersetScenario(p, "superset-operations", "Components of a Superset are removed, it is suspended and resumed, "+
		"upgraded after an approval, stopped, started and deleted, while users request its page.", []WebPhase{
		{Name: "steady", Pages: []string{OldPage}},
		{Name: "components removed", Pages: []string{OldPage}},
		{Name: "suspended", Pages: []string{OldPage}},
		{Name: "resumed", Pages: []string{OldPage}},
		{Name: "upgrade waits", Pages: []string{OldPage}},
		{Name: "upgrade approved", Pages: []string{OldPage, MaintenancePage, NewPage}, Moves: true},
		{Name: "started", Pages: []string{NewPage}},
	})
	s.Phases = []run.Phase{
		{Name: "steady", Do: w.steady},
		{Name: "components removed", Do: w.removeComponents},
		{Name: "suspended", Do: w.suspend},
		{Name: "resumed", Do: w.resume},
		{Name: "upgrade waits", Do: w.await},
		{Name: "upgrade approved", Do: w.approve},
		{Name: "stop", Outage: true, Do: w.stop},
		{Name: "start", Outage: true, Do: w.start},
		{Name: "started", Do: w.steady},
		{Name: "delete", Outage: true, Do: w.remove},
	}
	return s
}

// removeComponents removes three components, but not the web server, from the spec.
func (w *shopScenario) removeComponents(ctx context.Context, s *run.Step) error {
	components := []string{"celery-flower", "websocket-server", "mcp-server"}
	for _, component := range components {
		// The objects checked below must have existed.
		for _, kind := range []schema.GroupVersionKind{platform.Deployments, platform.Services, platform.ConfigMaps} {
			found, err := w.List(ctx, kind, w.namespace, client.MatchingLabels(componentLabels(component)))
			if err != nil {
				return err
			}
			if len(found) != 1 && (kind != platform.ConfigMaps || component != "websocket-server") {
				return fmt.Errorf("component %s has %v of kind %s, want one", component, platform.Names(found), kind.Kind)
			}
		}
	}
	if err := w.edit(ctx, s, `{"spec":{"celeryFlower":null,"websocketServer":null,"mcpServer":null}}`); err != nil {
		return err
	}
	for _, component := range components {
		if err := s.Until(ctx, "the objects of "+component+" are deleted", func(ctx context.Context) error {
			return w.Leftovers(ctx, w.namespace, componentLabels(component), shopKinds...)
		}); err != nil {
			return err
		}
	}
	return w.serves(ctx, s)
}

// suspend changes the spec of a suspended Superset: the operator must observe the change and not apply it.
func (w *shopScenario) suspend(ctx context.Context, s *run.Step) error {
	before, err := w.pods(ctx)
	if err != nil {
		return err
	}
	for _, patch := range []string{`{"spec":{"suspend":true}}`, `{"spec":{"webServer":{"replicas":3}}}`} {
		if err := w.edit(ctx, s, patch); err != nil {
			return err
		}
		// Once the conditions are of this generation, the operator has reconciled it.
		if err := w.is(ctx, s, "Suspended", "Paused"); err != nil {
			return err
		}
	}
	web, err := w.Get(ctx, platform.Deployments, w.namespace, "shop-web-server")
	if err != nil {
		return err
	}
	if err := RolledOut(web, w.image, w.replicas); err != nil {
		return fmt.Errorf("the operator applied the spec of a suspended Superset: %w", err)
	}
	if err := s.Pass(ctx, 2*time.Second); err != nil {
		return err
	}
	after, err := w.pods(ctx)
	if err == nil && !slices.Equal(before, after) {
		err = fmt.Errorf("the pods of a suspended Superset changed from %v to %v", before, after)
	}
	return err
}

// pods returns the names and UIDs of the pods of the shop.
func (w *shopScenario) pods(ctx context.Context) ([]string, error) {
	items, err := w.List(ctx, cluster.Pod, w.namespace, client.MatchingLabels(shopLabels))
	var out []string
	for _, item := range items {
		out = append(out, item.GetName()+" "+string(item.GetUID()))
	}
	slices.Sort(out)
	return out, err
}

// is waits until these conditions of the latest generation are True.
func (w *shopScenario) is(ctx context.Context, s *run.Step, conditions ...string) error {
	return s.Until(ctx, fmt.Sprintf("the shop is %v", conditions), func(ctx context.Context) error {
		o, err := w.Get(ctx, platform.Supersets, w.namespace, "shop")
		if err != nil {
			return err
		}
		for _, c := range conditions {
			if err := platform.IsTrue(o, c); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *shopScenario) resume(ctx context.Context, s *run.Step) error {
	if err := w.edit(ctx, s, `{"spec":{"suspend":false}}`); err != nil {
		return err
	}
	w.replicas = 3
	return w.serves(ctx, s)
}

// await requests an upgrade that requires approval, and checks that the old version keeps serving.
func (w *shopScenario) await(ctx context.Context, s *run.Step) error {
	before, err := w.pods(ctx)
	if err != nil {
		return err
	}
	if err := w.edit(ctx, s, `{"spec":{"image":{"tag":"6.1.0"},"lifecycle":{"upgradeMode":"Supervised"}}}`); err != nil {
		return err
	}
	if err := s.Until(ctx, "the upgrade waits for its approval", func(ctx context.Context) error {
		o, err := w.Get(ctx, platform.Supersets, w.namespace, "shop")
		if err != nil {
			return err
		}
		return waits(o)
	}); err != nil {
		return err
	}
	if err := s.Pass(ctx, 2*time.Second); err != nil {
		return err
	}
	after, err := w.pods(ctx)
	if err == nil && !slices.Equal(before, after) {
		err = fmt.Errorf("before the approval the pods changed from %v to %v", before, after)
	}
	return err
}

// waits returns an error unless the upgrade waits for approval.
func waits(o *unstructured.Unstructured) error {
	if phase := platform.Text(o, "status", "phase"); phase != "AwaitingApproval" {
		return fmt.Errorf("phase is %q", phase)
	}
	if status, reason := platform.Condition(o, "LifecycleComplete"); status != "False" || reason != "AwaitingApproval" {
		return fmt.Errorf("LifecycleComplete is %q (%s)", status, reason)
	}
	if platform.Text(o, "status", "lifecycle", "upgrade", "approvalToken") == "" {
		return fmt.Errorf("approvalToken is empty")
	}
	return nil
}

// approve annotates the shop with the approval token of this change, as the guide describes.
func (w *shopScenario) approve(ctx context.Context, s *run.Step) error {
	const approval = "superset.apache.org/approve-upgrade"
	o, err := w.Get(ctx, platform.Supersets, w.namespace, "shop")
	if err != nil {
		return err
	}
	token := platform.Text(o, "status", "lifecycle", "upgrade", "approvalToken")
	if _, err := w.Kubectl(ctx, "", "annotate", "superset", "shop", "-n", w.namespace, approval+"="+token, "--overwrite"); err != nil {
		return err
	}
	if err := w.behindPage(ctx, s); err != nil {
		return err
	}
	w.image = newImage
	if err := w.serves(ctx, s); err != nil {
		return err
	}
	if err := s.Until(ctx, "the operator removes the approval", func(ctx context.Context) error {
		o, err := w.Get(ctx, platform.Supersets, w.namespace, "shop")
		if err == nil && o.GetAnnotations()[approval] != "" {
			err = fmt.Errorf("the annotation still exists")
		}
		return err
	}); err != nil {
		return err
	}
	return w.waitForClass(ctx, s, "200 "+NewPage)
}

// stop stops the shop, which deletes all its pods, so connections of users fail.
func (w *shopScenario) stop(ctx context.Context, s *run.Step) error {
	if err := w.edit(ctx, s, `{"metadata":{"annotations":{"operator-command":"Stopped"}}}`); err != nil {
		return err
	}
	if err := w.is(ctx, s, "Stopped"); err != nil {
		return err
	}
	pods, err := w.pods(ctx)
	if err != nil {
		return err
	}
	if len(pods) > 0 {
		return fmt.Errorf("condition Stopped is True, but pods %v exist", pods)
	}
	if w.loadgen == nil {
		return nil
	}
	if err := s.Pass(ctx, 2*time.Second); err != nil {
		return err
	}
	phases, err := w.loadgen.Figures(ctx)
	if err != nil {
		return err
	}
	s.Note("After the stop, users got %v.", phases[len(phases)-1].Classes)
	return nil
}

// start starts the shop and waits for the first page; no request may fail after it.
func (w *shopScenario) start(ctx context.Context, s *run.Step) error {
	if err := w.edit(ctx, s, `{"metadata":{"annotations":{"operator-command":null}}}`); err != nil {
		return err
	}
	if err := w.serves(ctx, s); err != nil {
		return err
	}
	startedAt := s.Now()
	bounded, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	if err := w.waitForClass(bounded, s, "200 "+NewPage); err != nil {
		return err
	}
	s.Note("After the start, the first page was served %.1f s after Available.", s.Now().Sub(startedAt).Seconds())
	return nil
}
