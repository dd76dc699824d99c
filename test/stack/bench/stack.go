package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/test/stack/benchenv"
	"github.com/flotilla-dev/flotilla/test/stack/platform"
)

const (
	workloads       = 10
	arrivalTimeout  = 5 * time.Minute
	arrivalInterval = 20 * time.Millisecond
)

// figures reports the figures of the stack, whose names have no prefix.
var figures = &benchenv.Figures{}

// stackScenario is a scenario on a running platform.
type stackScenario struct {
	name string
	run  func(context.Context, *platform.Platform) error
}

var stackScenarios = []stackScenario{
	{"supersets", stackSupersets},
	{"engines", stackEngines},
	{"models", stackModels},
}

// runStack starts a stack with make up, runs the scenarios, and stops the stack.
func runStack(ctx context.Context, names []string) (err error) {
	selected := func(name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	for _, name := range names {
		known := func(s stackScenario) bool { return s.name == name }
		if name != "controlplane" && !slices.ContainsFunc(stackScenarios, known) {
			return fmt.Errorf("unknown scenario %q of the stack", name)
		}
	}
	dir, err := os.MkdirTemp("", "flotilla-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if selected("controlplane") {
		if err := startControlPlane(ctx, filepath.Join(dir, "controlplane")); err != nil {
			return err
		}
	}
	module, err := controlplane.Module()
	if err != nil {
		return err
	}
	p := &platform.Platform{Root: filepath.Dir(filepath.Dir(module)), Local: filepath.Join(dir, "local"), Out: os.Stderr}
	defer func() {
		// Stop the stack after an interrupt too, when ctx has ended.
		down, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
		defer cancel()
		err = errors.Join(err, p.Close(), p.Down(down))
	}()
	if err := p.Up(ctx); err != nil {
		return err
	}
	for _, s := range stackScenarios {
		if !selected(s.name) {
			continue
		}
		if err := s.run(ctx, p); err != nil {
			return fmt.Errorf("scenario %s: %w", s.name, err)
		}
	}
	return nil
}

// startControlPlane measures the creation of a cluster until its nodes are ready.
func startControlPlane(ctx context.Context, dir string) error {
	tools, err := controlplane.Find()
	if err != nil {
		return err
	}
	start := time.Now()
	cluster, err := tools.Create(ctx, controlplane.Config{Name: "bench", Dir: dir})
	if err != nil {
		return err
	}
	figures.Report("controlplane_start", time.Since(start).Seconds(), "s")
	return cluster.Delete(context.WithoutCancel(ctx))
}

func stackSupersets(ctx context.Context, p *platform.Platform) error {
	return arrive(ctx, p, "superset-operator", "supersets_10_running", "Running", benchenv.Object(supersetGroup, "Superset", "default", "", map[string]any{
		"environment": "Development",
		"image":       map[string]any{"tag": "4.1.1"},
		"secretKey":   "only-for-this-bench",
		"metastore":   map[string]any{"uri": "sqlite:////tmp/superset.db"},
		"webServer":   map[string]any{"replicas": int64(2)},
	}))
}

// stackEngines measures engines of the sample instance.
func stackEngines(ctx context.Context, p *platform.Platform) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(engineGroup.WithKind("FireboltInstanceList"))
	if err := p.Client.List(ctx, list, client.InNamespace("default")); err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return errors.New("make up applied no FireboltInstance")
	}
	return arrive(ctx, p, "engine-operator", "engines_10_stable", "stable", benchenv.Object(engineGroup, "FireboltEngine", "default", "", map[string]any{
		"instanceRef": list.Items[0].GetName(), "replicas": int64(2), "drainCheckEnabled": false,
	}))
}

// arrive creates copies of an object, waits until all objects of the kind have the phase, and reports time and requests.
func arrive(ctx context.Context, p *platform.Platform, service, figure, phase string, o *unstructured.Unstructured) error {
	const requests = "rest_client_requests_total"
	before, err := p.Metric(ctx, service, requests)
	if err != nil {
		return err
	}
	kind, start := o.GroupVersionKind(), time.Now()
	for i := range workloads {
		workload := o.DeepCopy()
		workload.SetName(fmt.Sprintf("bench-%d", i))
		if err := p.Client.Create(ctx, workload); err != nil {
			return err
		}
	}
	err = await.Nil(ctx, arrivalTimeout, arrivalInterval, func(ctx context.Context) error {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := p.Client.List(ctx, list, client.InNamespace("default")); err != nil {
			return await.Stop(err)
		}
		for i := range list.Items {
			if !inPhase(phase)(&list.Items[i]) {
				return fmt.Errorf("%s %s is not %s", kind.Kind, list.Items[i].GetName(), phase)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	elapsed := time.Since(start)
	after, err := p.Metric(ctx, service, requests)
	if err != nil {
		return err
	}
	figures.Report(figure, elapsed.Seconds(), "s")
	// The client-side count contains watches and requests for Leases, so it is an upper bound.
	figures.Report(figure+"_requests_each", (after-before)/workloads, "requests")
	return nil
}
