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

// Operations does with a Superset what its users do from day to day.
func Operations(p *platform.Platform) run.Scenario {
	w, s := supersetScenario(p, "superset-operations", "Components of a Superset are removed, it is suspended and resumed, "+
		"upgraded after an approval, stopped, started and deleted, while users request its page.", []WebPhase{
		{Name: "steady", Pages: []string{OldPage}},
		{Name: "components removed", Pages: []string{OldPage}},
		{Name: "suspended", Pages: []string{OldPage}},
		{Name: "resumed", Pages: []string{OldPage}},
		{Name: "upgrade waits", Pages: []string{OldPage}},
		{Name: "upgrade approved", Pages: []string{OldPage, MaintenancePage, NewPage}, Moves: true},
		{Name: "back", Pages: []string{NewPage}},
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
		{Name: "back", Do: w.steady},
		{Name: "delete", Outage: true, Do: w.remove},
	}
	return s
}

// removeComponents removes three components, but not the web server, from the spec.
func (w *shop) removeComponents(ctx context.Context, s *run.Step) error {
	components := []string{"celery-flower", "websocket-server", "mcp-server"}
	for _, component := range components {
		// The objects checked below must have existed.
		for _, kind := range []schema.GroupVersionKind{platform.Deployments, platform.Services, platform.ConfigMaps} {
			found, err := w.List(ctx, kind, w.namespace, client.MatchingLabels(componentLabels(component)))
			if err != nil {
				return err
			}
			if len(found) != 1 && (kind != platform.ConfigMaps || component != "websocket-server") {
				return fmt.Errorf("component %s has %v of kind %s instead of one", component, platform.Names(found), kind.Kind)
			}
		}
	}
	if err := w.edit(ctx, s, `{"spec":{"celeryFlower":null,"websocketServer":null,"mcpServer":null}}`); err != nil {
		return err
	}
	for _, component := range components {
		if err := s.Until(ctx, "nothing is left of "+component, func(ctx context.Context) error {
			return w.Leftovers(ctx, w.namespace, componentLabels(component), ofShop...)
		}); err != nil {
			return err
		}
	}
	return w.serves(ctx, s)
}

// suspend changes the spec of a Superset that is suspended: it is seen, and nothing follows.
func (w *shop) suspend(ctx context.Context, s *run.Step) error {
	before, err := w.pods(ctx)
	if err != nil {
		return err
	}
	for _, patch := range []string{`{"spec":{"suspend":true}}`, `{"spec":{"webServer":{"replicas":3}}}`} {
		if err := w.edit(ctx, s, patch); err != nil {
			return err
		}
		// Conditions of this generation: what could have followed from it has followed.
		if err := w.is(ctx, s, "Suspended", "Paused"); err != nil {
			return err
		}
	}
	web, err := w.Get(ctx, platform.Deployments, w.namespace, "shop-web-server")
	if err != nil {
		return err
	}
	if err := RolledOut(web, w.image, w.replicas); err != nil {
		return fmt.Errorf("the spec of a suspended Superset was followed: %w", err)
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

// pods names the pods of the shop, each with its UID.
func (w *shop) pods(ctx context.Context) ([]string, error) {
	items, err := w.List(ctx, cluster.Pod, w.namespace, client.MatchingLabels(shopLabels))
	var out []string
	for _, item := range items {
		out = append(out, item.GetName()+" "+string(item.GetUID()))
	}
	slices.Sort(out)
	return out, err
}

// is waits until conditions of the present generation are True.
func (w *shop) is(ctx context.Context, s *run.Step, conditions ...string) error {
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

func (w *shop) resume(ctx context.Context, s *run.Step) error {
	if err := w.edit(ctx, s, `{"spec":{"suspend":false}}`); err != nil {
		return err
	}
	w.replicas = 3
	return w.serves(ctx, s)
}

// await requests an upgrade that requires approval: until then the old version serves.
func (w *shop) await(ctx context.Context, s *run.Step) error {
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

// waits returns an error for an upgrade that does not wait for approval.
func waits(o *unstructured.Unstructured) error {
	if phase := platform.Text(o, "status", "phase"); phase != "AwaitingApproval" {
		return fmt.Errorf("the phase is %q", phase)
	}
	if status, reason := platform.Condition(o, "LifecycleComplete"); status != "False" || reason != "AwaitingApproval" {
		return fmt.Errorf("LifecycleComplete is %q (%s)", status, reason)
	}
	if platform.Text(o, "status", "lifecycle", "upgrade", "approvalToken") == "" {
		return fmt.Errorf("there is no token")
	}
	return nil
}

// approve does what the guide says: it annotates the shop with the token of this one change.
func (w *shop) approve(ctx context.Context, s *run.Step) error {
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
	if err := s.Until(ctx, "the approval is used up", func(ctx context.Context) error {
		o, err := w.Get(ctx, platform.Supersets, w.namespace, "shop")
		if err == nil && o.GetAnnotations()[approval] != "" {
			err = fmt.Errorf("the annotation is there")
		}
		return err
	}); err != nil {
		return err
	}
	return w.seen(ctx, s, "200 "+NewPage)
}

// stop ends all pods: users get no connection.
func (w *shop) stop(ctx context.Context, s *run.Step) error {
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
		return fmt.Errorf("condition Stopped is True and there are still the pods %v", pods)
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
	s.Note("From the stop on, users got %v.", phases[len(phases)-1].Classes)
	return nil
}

// start brings the pods back, and waits for the first page; from then on nothing may fail.
func (w *shop) start(ctx context.Context, s *run.Step) error {
	if err := w.edit(ctx, s, `{"metadata":{"annotations":{"operator-command":null}}}`); err != nil {
		return err
	}
	if err := w.serves(ctx, s); err != nil {
		return err
	}
	began := s.Now()
	bounded, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	if err := w.seen(bounded, s, "200 "+NewPage); err != nil {
		return err
	}
	s.Note("After the start, the first page was there %.1f s after Available.", s.Now().Sub(began).Seconds())
	return nil
}
