package scenario

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/timeline"
)

var (
	engines       = schema.GroupVersionKind{Group: "compute.firebolt.io", Version: "v1alpha1", Kind: "FireboltEngine"}
	engineClasses = schema.GroupVersionKind{Group: "compute.firebolt.io", Version: "v1alpha1", Kind: "FireboltEngineClass"}
	instances     = schema.GroupVersionKind{Group: "compute.firebolt.io", Version: "v1alpha1", Kind: "FireboltInstance"}
	statefulSets  = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	services      = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	configMaps    = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

	engineLabels   = map[string]string{"firebolt.io/engine": "etl"}
	engineOperator = map[string]string{"app.kubernetes.io/name": "engine-operator"}
)

// engine is the engine etl of a scenario, in a namespace of its own.
type engine struct {
	*Platform
	namespace string
	replicas  int
	loadgen   *cluster.Loadgen
	before    int64 // the generation that was stopped
	told      int64 // the last transition that was checked
	drained   int   // generations that went when they had no queries left
}

// engineScenario is what the scenarios of engines have in common.
func (p *Platform) engineScenario(name, title string, replicas int) (*engine, run.Scenario) {
	e := &engine{Platform: p, namespace: name, replicas: replicas}
	return e, run.Scenario{
		Name: name, Title: title, Limit: 15 * time.Minute, Services: []string{"engine-operator"},
		Watch: []timeline.Object{
			{GVK: engines, Namespace: name, Name: "etl"}, {GVK: instances, Namespace: name, Name: "main"},
		},
		Prepare: e.prepare,
		Clean:   func(ctx context.Context, _ *run.Step) error { return p.RemoveNamespace(ctx, name) },
	}
}

// engineRollouts changes an engine in every way that makes a new generation.
func (p *Platform) engineRollouts() run.Scenario {
	e, s := p.engineScenario("engine-rollouts", "An engine is scaled, given another image, class and configuration, "+
		"edited seven times in a row, stopped, started and deleted, while queries run through the gateway.", 1)
	s.Phases = []run.Phase{
		{Name: "steady", Do: e.steady},
		{Name: "scale 1 to 3", Do: e.change(engines, "etl", `{"spec":{"replicas":3}}`, 3)},
		{Name: "scale 3 to 1", Do: e.change(engines, "etl", `{"spec":{"replicas":1}}`, 1)},
		{Name: "another image", Do: e.change(engines, "etl", withImage("flotilla-e2e/engine:dev-2"), 1)},
		{Name: "class edit", Do: e.change(engineClasses, "small",
			`{"spec":{"template":{"metadata":{"labels":{"team":"analytics"}}}}}`, 1)},
		{Name: "configuration", Do: e.change(engines, "etl", `{"spec":{"customEngineConfig":{"storage":{"cache":"1Gi"}}}}`, 1)},
		{Name: "seven rapid edits", Do: e.sevenEdits},
		{Name: "stop", Outage: true, Do: e.stop},
		{Name: "start", Outage: true, Do: e.start},
		{Name: "started", Do: e.started},
		{Name: "delete", Outage: true, Do: e.remove},
	}
	return s
}

func withImage(image string) string {
	return fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"engine","image":%q}]}}}}`, image)
}

// prepare makes the instance and the engine, and lets queries run: short ones, and long ones that keep a generation
// busy after traffic has moved.
func (e *engine) prepare(ctx context.Context, s *run.Step) (run.Loadgen, error) {
	if err := e.MakeNamespace(ctx, e.namespace); err != nil {
		return nil, err
	}
	postgres := "" // the operator runs one
	if e.Simulated {
		postgres = "postgres: {host: postgres, database: metadata, credentialsSecretRef: {name: postgres}}"
	}
	if err := e.applyManifest(ctx, e.namespace, "engine.yaml", "${REPLICAS}", fmt.Sprint(e.replicas),
		"${POSTGRES}", postgres, "${DRAIN_CHECK}", fmt.Sprint(!e.Simulated)); err != nil {
		return nil, err
	}
	if err := s.Until(ctx, "the instance is Ready", func(ctx context.Context) error {
		o, err := e.Get(ctx, instances, e.namespace, "main")
		if err != nil {
			return err
		}
		return isTrue(o, "Ready")
	}); err != nil {
		return nil, err
	}
	if err := e.rolled(ctx, s, -1); err != nil || e.Simulated {
		return nil, err
	}
	args := []string{
		"--url", fmt.Sprintf("http://main-gateway.%s.svc.cluster.local/", e.namespace), "--method", "POST",
		"--header", "X-Firebolt-Engine: etl", "--clients", "12", "--rate", "20", "--timeout", "40s", "--retry-drained",
		"--label", `engine="engine":\s*"etl"`, "--good", "engine", "--label", "stopped=no healthy upstream", "--body", "SELECT sleep(7s)", "--body", "SELECT sleep(250ms)",
	}
	for range 20 {
		args = append(args, "--body", "SELECT 1")
	}
	var err error
	e.loadgen, err = e.StartLoadgen(ctx, s, e.namespace, "loadgen", args...)
	return e.loadgen, err
}

// steady changes nothing for a while: what fails here is not the operator's doing.
func (e *engine) steady(ctx context.Context, s *run.Step) error {
	if n, err := e.restricted(ctx, e.namespace); err != nil || n == 0 {
		return fmt.Errorf("%d containers of %s were checked: %w", n, e.namespace, err)
	}
	return s.Pass(ctx, 10*time.Second)
}

// change patches an object and waits for the generation that follows.
func (e *engine) change(gvk schema.GroupVersionKind, name, patch string, replicas int) func(context.Context, *run.Step) error {
	return func(ctx context.Context, s *run.Step) error {
		before, err := e.serving(ctx)
		if err != nil {
			return err
		}
		if err := e.patch(ctx, s, gvk, name, patch); err != nil {
			return err
		}
		e.replicas = replicas
		return e.rolled(ctx, s, before)
	}
}

// patch patches an object. A change is refused while no pod of the operator's answers its webhook, and a scenario may
// have killed them all; so it is tried again, as a person would.
func (e *engine) patch(ctx context.Context, s *run.Step, gvk schema.GroupVersionKind, name, patch string) error {
	return s.Until(ctx, "the change of "+name+" is accepted", func(ctx context.Context) error {
		return e.Patch(ctx, gvk, e.namespace, name, patch)
	})
}

// sevenEdits changes the engine seven times within two seconds. The last one must serve in the end.
func (e *engine) sevenEdits(ctx context.Context, s *run.Step) error {
	before, err := e.serving(ctx)
	if err != nil {
		return err
	}
	const edits = 7
	for i := 1; i <= edits; i++ {
		patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{"edit":"%d"}}}}}`, i)
		if err := e.patch(ctx, s, engines, "etl", patch); err != nil {
			return err
		}
		if err := s.Pass(ctx, 300*time.Millisecond); err != nil {
			return err
		}
	}
	if err := e.rolled(ctx, s, before); err != nil {
		return err
	}
	pods, err := e.List(ctx, cluster.Pod, e.namespace, matching(engineLabels))
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if got := pod.GetLabels()["edit"]; got != fmt.Sprint(edits) {
			return fmt.Errorf("pod %s serves edit %q, not the last one", pod.GetName(), got)
		}
	}
	return nil
}
