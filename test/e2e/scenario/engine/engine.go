// Package engine contains the scenarios of the engine operator.
package engine

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
	"github.com/flotilla-dev/flotilla/test/e2e/timeline"
)

var (
	engineClasses = schema.GroupVersionKind{Group: "compute.firebolt.io", Version: "v1alpha1", Kind: "FireboltEngineClass"}

	engineLabels   = map[string]string{"firebolt.io/engine": "etl"}
	engineOperator = map[string]string{"app.kubernetes.io/name": "engine-operator"}
)

// Engine is the engine etl of a scenario, in a namespace of its own.
type Engine struct {
	*platform.Platform
	Namespace  string
	Replicas   int
	sdk        bool // Firebolt's own client sends queries too
	loadgen    *cluster.Loadgen
	before     int64 // the generation before the stop or start
	checkedSeq int64 // sequence number of the last transition that was checked
	drained    int   // number of generations that were drained before their deletion
}

// engineScenario returns an engine, and a scenario without phases that prepares it and cleans up.
func engineScenario(p *platform.Platform, name, title string, replicas int) (*Engine, run.Scenario) {
	e := &Engine{Platform: p, Namespace: name, Replicas: replicas}
	return e, run.Scenario{
		Name: name, Title: title, Limit: 15 * time.Minute, Services: []string{"engine-operator"},
		Watch: []timeline.Object{
			{GVK: platform.Engines, Namespace: name, Name: "etl"}, {GVK: platform.Instances, Namespace: name, Name: "main"},
		},
		Prepare: e.Prepare,
		Clean:   func(ctx context.Context, _ *run.Step) error { return p.RemoveNamespace(ctx, name) },
	}
}

// Rollouts makes every kind of change that requires a new generation, and stops, starts and deletes the engine.
func Rollouts(p *platform.Platform) run.Scenario {
	e, s := engineScenario(p, "engine-rollouts", "An engine is scaled, given another image, class and configuration, "+
		"edited seven times in a row, stopped, started and deleted, while queries run through the gateway, also those of Firebolt's own client.", 1)
	e.sdk = true
	s.Phases = []run.Phase{
		{Name: "steady", Do: e.Steady},
		{Name: "scale 1 to 3", Do: e.change(platform.Engines, "etl", `{"spec":{"replicas":3}}`, 3)},
		{Name: "scale 3 to 1", Do: e.change(platform.Engines, "etl", `{"spec":{"replicas":1}}`, 1)},
		{Name: "another image", Do: e.change(platform.Engines, "etl", WithImage("flotilla-e2e/engine:dev-2"), 1)},
		{Name: "class edit", Do: e.change(engineClasses, "small",
			`{"spec":{"template":{"metadata":{"labels":{"team":"analytics"}}}}}`, 1)},
		{Name: "configuration", Do: e.change(platform.Engines, "etl", `{"spec":{"customEngineConfig":{"storage":{"cache":"1Gi"}}}}`, 1)},
		{Name: "seven rapid edits", Do: e.sevenEdits},
		{Name: "stop", Outage: true, Do: e.stop},
		{Name: "start", Outage: true, Do: e.start},
		{Name: "started", Do: run.InOrder(e.started, e.Steady)},
		{Name: "delete", Outage: true, Do: e.remove},
	}
	return s
}

// WithImage returns a merge patch that sets the image of the engine container.
func WithImage(image string) string {
	return fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"engine","image":%q}]}}}}`, image)
}

// Prepare creates the instance and the engine, and starts a load generator. Its long queries keep a generation busy after
// traffic is routed to the next one.
func (e *Engine) Prepare(ctx context.Context, s *run.Step) (run.Loadgen, error) {
	if err := e.MakeNamespace(ctx, e.Namespace); err != nil {
		return nil, err
	}
	if err := e.ApplyManifest(ctx, e.Namespace, "engine.yaml", "${REPLICAS}", fmt.Sprint(e.Replicas)); err != nil {
		return nil, err
	}
	const what = "the instance is Ready"
	if err := e.Object(platform.Instances, e.Namespace, "main").Await(ctx, s, what, func(o *unstructured.Unstructured) error {
		return platform.IsTrue(o, "Ready")
	}); err != nil {
		return nil, err
	}
	if err := e.Rolled(ctx, s, -1); err != nil {
		return nil, err
	}
	gateway, executed := fmt.Sprintf("http://main-gateway.%s.svc.cluster.local/", e.Namespace), "http://$(POD_IP):8090/executed"
	args := []string{
		"--url", gateway, "--method", "POST",
		"--header", "X-Firebolt-Engine: etl", "--clients", "40", "--rate", "20", "--timeout", "40s", "--retry-drained",
		"--execution-url", executed,
		"--label", `engine="engine":\s*"etl"`, "--good", "engine", "--label", "stopped=no healthy upstream", "--body", "SELECT sleep(7s)", "--body", "SELECT sleep(250ms)",
	}
	for range 20 {
		args = append(args, "--body", "SELECT 1")
	}
	var err error
	if e.sdk {
		e.loadgen, err = e.StartLoadgenWithSDK(ctx, s, e.Namespace, "loadgen", []string{gateway, "etl", "http://127.0.0.1:8090/answered", executed}, args)
	} else {
		e.loadgen, err = e.StartLoadgen(ctx, s, e.Namespace, "loadgen", args...)
	}
	return e.loadgen, err
}

// Steady checks the security contexts and keeps the load running without a change, as a baseline for the other phases.
func (e *Engine) Steady(ctx context.Context, s *run.Step) error {
	if _, err := e.Restricted(ctx, e.Namespace); err != nil {
		return err
	}
	if e.sdk {
		if err := e.loadgen.WaitForClass(ctx, s, sdkAnswered); err != nil {
			return err
		}
	}
	return s.Pass(ctx, 10*time.Second)
}

// change patches an object and waits for the generation that follows.
func (e *Engine) change(gvk schema.GroupVersionKind, name, patch string, replicas int) run.Action {
	return func(ctx context.Context, s *run.Step) error {
		before, err := e.Serving(ctx)
		if err != nil {
			return err
		}
		if err := e.Object(gvk, e.Namespace, name).Edit(ctx, s, patch); err != nil {
			return err
		}
		e.Replicas = replicas
		return e.Rolled(ctx, s, before)
	}
}

// Edit patches the engine.
func (e *Engine) Edit(ctx context.Context, s *run.Step, patch string) error {
	return e.Object(platform.Engines, e.Namespace, "etl").Edit(ctx, s, patch)
}

// sevenEdits changes the engine seven times within two seconds, and checks that the last change serves.
func (e *Engine) sevenEdits(ctx context.Context, s *run.Step) error {
	before, err := e.Serving(ctx)
	if err != nil {
		return err
	}
	const edits = 7
	for i := 1; i <= edits; i++ {
		patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{"edit":"%d"}}}}}`, i)
		if err := e.Edit(ctx, s, patch); err != nil {
			return err
		}
		if err := s.Pass(ctx, 300*time.Millisecond); err != nil {
			return err
		}
	}
	if err := e.Rolled(ctx, s, before); err != nil {
		return err
	}
	pods, err := e.List(ctx, cluster.Pod, e.Namespace, client.MatchingLabels(engineLabels))
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if got := pod.GetLabels()["edit"]; got != fmt.Sprint(edits) {
			return fmt.Errorf("pod %s serves edit %q, want %d", pod.GetName(), got, edits)
		}
	}
	return nil
}
