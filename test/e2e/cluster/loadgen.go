package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
)

// LoadgenImage is the image of load generators, SDKImage that of Firebolt's own client.
const (
	LoadgenImage = "flotilla-e2e/loadgen:dev"
	SDKImage     = "flotilla-e2e/firebolt-sdk:dev"
)

const (
	loadgenPort = 8090
	// timeout is how long requests to a load generator are retried.
	timeout = 30 * time.Second
)

// Pod is the kind of pods.
var Pod = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// Loadgen is a load generator that runs as a pod.
type Loadgen struct {
	cluster         *Cluster
	namespace, name string
}

// StartLoadgen starts a load generator pod with these arguments, and waits until it responds. The kubelet does not restart
// it, since a restart would lose its counts.
func (c *Cluster) StartLoadgen(ctx context.Context, step *run.Step, namespace, name string, args ...string) (*Loadgen, error) {
	return c.startLoadgen(ctx, step, namespace, name, container("loadgen", LoadgenImage, args))
}

// StartLoadgenWithSDK also starts Firebolt's own client with the arguments sdk, in the same pod. It reports its answers to
// the load generator.
func (c *Cluster) StartLoadgenWithSDK(ctx context.Context, step *run.Step, namespace, name string, sdk, args []string) (*Loadgen, error) {
	return c.startLoadgen(ctx, step, namespace, name, container("loadgen", LoadgenImage, args), container("sdk", SDKImage, sdk))
}

func (c *Cluster) startLoadgen(ctx context.Context, step *run.Step, namespace, name string, containers ...any) (*Loadgen, error) {
	manifest, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "labels": map[string]any{"app": name}},
		"spec": map[string]any{
			"restartPolicy": "Never", "automountServiceAccountToken": false, "terminationGracePeriodSeconds": 1,
			"securityContext": map[string]any{
				"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": map[string]any{"type": "RuntimeDefault"},
			},
			"containers": containers,
		},
	})
	if err != nil {
		return nil, err
	}
	if err := c.Apply(ctx, namespace, string(manifest)); err != nil {
		return nil, err
	}
	a := &Loadgen{c, namespace, name}
	return a, step.Until(ctx, "load generator "+name+" responds", func(ctx context.Context) error {
		if _, err := a.once(ctx, http.MethodGet, "/counts"); err != nil {
			return fmt.Errorf("%w; %s", err, c.Explain(ctx, namespace, name))
		}
		return nil
	})
}

func container(name, image string, args []string) map[string]any {
	return map[string]any{
		"name": name, "image": image, "imagePullPolicy": "IfNotPresent", "args": args,
		"env": []any{map[string]any{"name": "POD_IP", "valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "status.podIP"}}}},
		"securityContext": map[string]any{
			"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": map[string]any{"drop": []any{"ALL"}},
		},
	}
}

// Explain describes the phase and the container states of a pod, for messages.
func (c *Cluster) Explain(ctx context.Context, namespace, name string) string {
	pod, err := c.Get(ctx, Pod, namespace, name)
	if err != nil {
		return err.Error()
	}
	phase, _, err := unstructured.NestedString(pod.Object, "status", "phase")
	if err != nil {
		return err.Error()
	}
	statuses, _, err := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
	if err != nil {
		return err.Error()
	}
	var states strings.Builder
	for _, entry := range statuses {
		if s, ok := entry.(map[string]any); ok {
			fmt.Fprintf(&states, " %v %v", s["name"], s["state"])
		}
	}
	return fmt.Sprintf("pod %s is %s%s", name, phase, states.String())
}

// Reset deletes all figures and begins a phase.
func (a *Loadgen) Reset(ctx context.Context, phase string) ([]load.Figures, error) {
	return a.request(ctx, http.MethodPost, "/reset?name="+url.QueryEscape(phase))
}

// Phase begins a phase.
func (a *Loadgen) Phase(ctx context.Context, phase string) ([]load.Figures, error) {
	return a.request(ctx, http.MethodPost, "/phase?name="+url.QueryEscape(phase))
}

// Figures returns the figures of all phases.
func (a *Loadgen) Figures(ctx context.Context) ([]load.Figures, error) {
	return a.request(ctx, http.MethodGet, "/counts")
}

// Current returns the figures of the current phase.
func (a *Loadgen) Current(ctx context.Context) (load.Figures, error) {
	phases, err := a.Figures(ctx)
	if err != nil {
		return load.Figures{}, err
	}
	return phases[len(phases)-1], nil
}

// WaitForClass waits for an answer of this class in the current phase.
func (a *Loadgen) WaitForClass(ctx context.Context, step *run.Step, class string) error {
	return step.Until(ctx, "load generator "+a.name+" gets "+class, func(ctx context.Context) error {
		now, err := a.Current(ctx)
		if err != nil {
			return err
		}
		if now.Classes[class] == 0 {
			return fmt.Errorf("phase %s has answers %v", now.Phase, now.Classes)
		}
		return nil
	})
}

// request sends a request, and retries it while the API server is busy. All requests are idempotent.
func (a *Loadgen) request(ctx context.Context, method, path string) (figures []load.Figures, err error) {
	err = await.Nil(ctx, timeout, time.Second, func(ctx context.Context) (err error) {
		figures, err = a.once(ctx, method, path)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("send request to load generator %s: %w", a.name, err)
	}
	return figures, nil
}

func (a *Loadgen) once(ctx context.Context, method, path string) ([]load.Figures, error) {
	text, err := a.cluster.Pod(ctx, method, a.namespace, a.name, loadgenPort, path)
	if err != nil {
		return nil, err
	}
	var figures []load.Figures
	if err := json.Unmarshal(text, &figures); err != nil {
		return nil, fmt.Errorf("decode figures: %w", err)
	}
	return figures, nil
}
