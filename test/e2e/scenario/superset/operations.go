package superset

import (
	"context"
	"errors"
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
		{Name: "steady", Do: w.Steady},
		{Name: "components removed", Do: w.removeComponents},
		{Name: "suspended", Do: w.suspend},
		{Name: "resumed", Do: run.InOrder(w.Edit(`{"spec":{"suspend":false}}`), w.serves)},
		{Name: "upgrade waits", Do: w.await},
		{Name: "upgrade approved", Do: run.InOrder(w.approve, w.behindPage, w.serving(newImage), w.withdrawn, w.Gets(NewPage))},
		{Name: "stop", Outage: true, Do: w.stop},
		{Name: "start", Outage: true, Do: w.start},
		{Name: "started", Do: w.Steady},
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
			found, err := w.List(ctx, kind, w.Namespace, client.MatchingLabels(w.componentLabels(component)))
			if err != nil {
				return err
			}
			if len(found) != 1 && (kind != platform.ConfigMaps || component != "websocket-server") {
				return fmt.Errorf("component %s has %v of kind %s, want one", component, platform.Names(found), kind.Kind)
			}
		}
	}
	if err := w.Edit(`{"spec":{"celeryFlower":null,"websocketServer":null,"mcpServer":null}}`)(ctx, s); err != nil {
		return err
	}
	for _, component := range components {
		if err := s.Until(ctx, "the objects of "+component+" are deleted", func(ctx context.Context) error {
			return w.Leftovers(ctx, w.Namespace, w.componentLabels(component), shopKinds...)
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
		// Once the conditions are of this generation, the operator has reconciled it.
		if err := run.InOrder(w.Edit(patch), w.is("Suspended", "Paused"))(ctx, s); err != nil {
			return err
		}
	}
	web, err := w.Get(ctx, platform.Deployments, w.Namespace, "shop-web-server")
	if err != nil {
		return err
	}
	if err := RolledOut(web, w.image, w.replicas); err != nil {
		return fmt.Errorf("the operator applied the spec of a suspended Superset: %w", err)
	}
	w.replicas = 3 // once it is resumed
	return w.keeps(ctx, s, before)
}

// keeps waits a moment, and returns an error if the pods of the shop changed.
func (w *shopScenario) keeps(ctx context.Context, s *run.Step, before []string) error {
	if err := s.Pass(ctx, 2*time.Second); err != nil {
		return err
	}
	after, err := w.pods(ctx)
	if err == nil && !slices.Equal(before, after) {
		err = fmt.Errorf("the pods changed from %v to %v", before, after)
	}
	return err
}

// pods returns the names and UIDs of the pods of the shop.
func (w *shopScenario) pods(ctx context.Context) ([]string, error) {
	items, err := w.List(ctx, cluster.Pod, w.Namespace, client.MatchingLabels(shopLabels))
	var out []string
	for _, item := range items {
		out = append(out, item.GetName()+" "+string(item.GetUID()))
	}
	slices.Sort(out)
	return out, err
}

// is waits until these conditions of the latest generation are True.
func (w *shopScenario) is(conditions ...string) run.Action {
	return func(ctx context.Context, s *run.Step) error {
		return w.Until(ctx, s, fmt.Sprintf("the shop is %v", conditions), func(o *unstructured.Unstructured) error {
			for _, c := range conditions {
				if err := platform.IsTrue(o, c); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// await requests an upgrade that requires approval, and checks that the old version keeps serving.
func (w *shopScenario) await(ctx context.Context, s *run.Step) error {
	before, err := w.pods(ctx)
	if err != nil {
		return err
	}
	if err := w.Edit(`{"spec":{"image":{"tag":"6.1.0"},"lifecycle":{"upgradeMode":"Supervised"}}}`)(ctx, s); err != nil {
		return err
	}
	if err := w.Until(ctx, s, "the upgrade waits for its approval", waits); err != nil {
		return err
	}
	return w.keeps(ctx, s, before)
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

// approval is the annotation that approves an upgrade, as the guide describes.
const approval = "superset.apache.org/approve-upgrade"

// approve annotates the shop with the approval token of this change.
func (w *shopScenario) approve(ctx context.Context, _ *run.Step) error {
	o, err := w.Get(ctx, platform.Supersets, w.Namespace, "shop")
	if err != nil {
		return err
	}
	token := platform.Text(o, "status", "lifecycle", "upgrade", "approvalToken")
	_, err = w.Kubectl(ctx, "", "annotate", "superset", "shop", "-n", w.Namespace, approval+"="+token, "--overwrite")
	return err
}

// withdrawn waits until the operator has removed the approval.
func (w *shopScenario) withdrawn(ctx context.Context, s *run.Step) error {
	return w.Until(ctx, s, "the operator removes the approval", func(o *unstructured.Unstructured) error {
		if o.GetAnnotations()[approval] != "" {
			return errors.New("the annotation still exists")
		}
		return nil
	})
}

// stop stops the shop, which deletes all its pods, so connections of users fail.
func (w *shopScenario) stop(ctx context.Context, s *run.Step) error {
	command := w.Edit(`{"metadata":{"annotations":{"operator-command":"Stopped"}}}`)
	if err := run.InOrder(command, w.is("Stopped"))(ctx, s); err != nil {
		return err
	}
	pods, err := w.pods(ctx)
	if err != nil {
		return err
	}
	if len(pods) > 0 {
		return fmt.Errorf("condition Stopped is True, but pods %v exist", pods)
	}
	if err := s.Pass(ctx, 2*time.Second); err != nil {
		return err
	}
	now, err := w.Loadgen.Current(ctx)
	if err == nil {
		s.Note("After the stop, users got %v.", now.Classes)
	}
	return err
}

// start starts the shop and waits for the first page; no request may fail after it.
func (w *shopScenario) start(ctx context.Context, s *run.Step) error {
	if err := run.InOrder(w.Edit(`{"metadata":{"annotations":{"operator-command":null}}}`), w.serves)(ctx, s); err != nil {
		return err
	}
	startedAt := s.Now()
	bounded, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	if err := w.Gets(NewPage)(bounded, s); err != nil {
		return err
	}
	s.Note("After the start, the first page was served %.1f s after Available.", s.Now().Sub(startedAt).Seconds())
	return nil
}
