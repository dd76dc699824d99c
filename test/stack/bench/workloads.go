package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/stack/platform"
)

const workloads = 10

// workload describes a kind of resource and how to tell that it has arrived.
type workload struct {
	kind    schema.GroupVersionKind
	service string
	name    string // of the figure
	phase   string
	spec    map[string]any
}

func supersets(ctx context.Context, p *platform.Platform) error {
	return roll(ctx, p, workload{
		kind:    schema.GroupVersionKind{Group: "superset.apache.org", Version: "v1alpha1", Kind: "Superset"},
		service: "superset-operator", name: "supersets_10_running", phase: "Running",
		spec: map[string]any{
			"environment": "Development",
			"image":       map[string]any{"tag": "4.1.1"},
			"secretKey":   "only-for-this-bench",
			"metastore":   map[string]any{"uri": "sqlite:////tmp/superset.db"},
			"webServer":   map[string]any{"replicas": int64(2)},
		},
	})
}

func engines(ctx context.Context, p *platform.Platform) error {
	instance, err := firstInstance(ctx, p)
	if err != nil {
		return err
	}
	return roll(ctx, p, workload{
		kind:    schema.GroupVersionKind{Group: "compute.firebolt.io", Version: "v1alpha1", Kind: "FireboltEngine"},
		service: "engine-operator", name: "engines_10_stable", phase: "stable",
		spec: map[string]any{"instanceRef": instance, "replicas": int64(2), "drainCheckEnabled": false},
	})
}

// firstInstance returns the name of the sample instance.
func firstInstance(ctx context.Context, p *platform.Platform) (string, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "compute.firebolt.io", Version: "v1alpha1", Kind: "FireboltInstanceList"})
	if err := p.Client.List(ctx, list, client.InNamespace("default")); err != nil {
		return "", err
	}
	if len(list.Items) == 0 {
		return "", fmt.Errorf("make up applied no FireboltInstance")
	}
	return list.Items[0].GetName(), nil
}

// roll applies the workloads, waits until each is in its phase, and reports time and requests.
func roll(ctx context.Context, p *platform.Platform, w workload) error {
	const requests = "rest_client_requests_total"
	before, err := p.Metric(ctx, w.service, requests)
	if err != nil {
		return err
	}
	start := time.Now()
	for i := range workloads {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": w.spec}}
		obj.SetGroupVersionKind(w.kind)
		obj.SetNamespace("default")
		obj.SetName(fmt.Sprintf("bench-%d", i))
		if err := p.Client.Create(ctx, obj.DeepCopy()); err != nil {
			return err
		}
	}
	err = until(ctx, func() (bool, error) { return arrived(ctx, p, w) })
	if err != nil {
		return err
	}
	elapsed := time.Since(start)
	after, err := p.Metric(ctx, w.service, requests)
	if err != nil {
		return err
	}
	report(w.name, elapsed.Seconds(), "s")
	// The service's own count: leases and watches are in it, so it is an upper bound.
	report(w.name+"_requests_each", (after-before)/workloads, "requests")
	return nil
}

func arrived(ctx context.Context, p *platform.Platform, w workload) (bool, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(w.kind.GroupVersion().WithKind(w.kind.Kind + "List"))
	if err := p.Client.List(ctx, list, client.InNamespace("default")); err != nil {
		return false, err
	}
	for _, item := range list.Items {
		phase, _, err := unstructured.NestedString(item.Object, "status", "phase")
		if err != nil {
			return false, err
		}
		if phase != w.phase {
			return false, nil
		}
	}
	return true, nil
}
