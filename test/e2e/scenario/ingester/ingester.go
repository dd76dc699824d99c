// Package ingester contains the scenario of the ingester.
package ingester

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

const namespace = "ingester-disruptions"

// copies is the number of objects that are created from each sample.
const copies = 10

// Disruptions creates, changes and deletes objects of all Michelangelo kinds during outages of MySQL.
func Disruptions(p *platform.Platform) run.Scenario {
	i := &scenario{Platform: p}
	return run.Scenario{
		Name: namespace, Limit: 12 * time.Minute, Services: []string{"ingester"},
		Title: "The Michelangelo kinds are created, changed and deleted by kubectl while MySQL's pod is killed, moved (evicted, " +
			"it returns with its volume and another address) and restarted; `ingester verify` finds no difference.",
		Prepare: func(ctx context.Context, _ *run.Step) (run.Loadgen, error) {
			return nil, p.MakeNamespace(ctx, namespace)
		},
		Phases: []run.Phase{
			{Name: "create while MySQL's pod is killed", Do: i.during(i.create, i.kill)},
			{Name: "change while MySQL's pod is moved", Do: i.during(i.change, i.move)},
			{Name: "delete half while MySQL is restarted", Do: i.during(i.delete("deleted"), i.restart)},
			{Name: "verify", Do: Verify(p)},
			{Name: "delete the other half", Do: i.delete("kept")},
			{Name: "verify again", Do: Verify(p)},
		},
		Clean: func(ctx context.Context, _ *run.Step) error { return p.RemoveNamespace(ctx, namespace) },
	}
}

// scenario creates, changes and deletes objects.
type scenario struct {
	*platform.Platform
	kinds []string // plural.group of each kind
}

// during runs do and, at a random time within the first two seconds, disrupt. It then waits until MySQL is ready.
func (i *scenario) during(do, disrupt run.Action) run.Action {
	soon := func(ctx context.Context, s *run.Step) error {
		return s.Pass(ctx, time.Duration(i.Intn(2000))*time.Millisecond)
	}
	ready := func(ctx context.Context, s *run.Step) error { return i.Ready(ctx, s, i.Data, platform.MySQL, 1) }
	return run.InOrder(run.InParallel(do, run.InOrder(soon, disrupt)), ready)
}

// create applies copies of the samples, one kubectl for each copy.
func (i *scenario) create(ctx context.Context, _ *run.Step) error {
	paths, err := filepath.Glob(filepath.Join(i.Root, "deploy", "samples", "ingester", "*.yaml"))
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("no samples in %s", i.Root)
	}
	var samples []*unstructured.Unstructured
	seen := map[string]bool{}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(raw, &o.Object); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		samples = append(samples, o)
		if kind := strings.ToLower(o.GetKind()) + "s.michelangelo.api"; !seen[kind] {
			seen[kind] = true
			i.kinds = append(i.kinds, kind)
		}
	}
	crds, err := filepath.Glob(filepath.Join(i.Root, "services", "ingester", "config", "crd", "*.yaml"))
	if err != nil {
		return err
	}
	if len(i.kinds) != len(crds) {
		return fmt.Errorf("got samples of %d kinds, want %d: %v", len(i.kinds), len(crds), i.kinds)
	}
	for n := range copies {
		list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
		for _, sample := range samples {
			list.Items = append(list.Items, *copied(sample, n))
		}
		text, err := list.MarshalJSON()
		if err != nil {
			return err
		}
		if _, err := i.Kubectl(ctx, string(text), "apply", "-f", "-"); err != nil {
			return err
		}
	}
	return nil
}

func copied(sample *unstructured.Unstructured, n int) *unstructured.Unstructured {
	o := sample.DeepCopy()
	o.SetNamespace(namespace)
	o.SetName(fmt.Sprintf("%s-%d", sample.GetName(), n))
	half := "kept"
	if n%2 == 0 {
		half = "deleted"
	}
	o.SetLabels(map[string]string{"half": half})
	return o
}

func (i *scenario) allKinds() string { return strings.Join(i.kinds, ",") }

func (i *scenario) change(ctx context.Context, s *run.Step) error {
	for round := range 3 {
		if err := Label(i.Platform, namespace, i.allKinds(), fmt.Sprintf("round=%d", round))(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// Label labels all objects of some kinds in a namespace. kubectl can fail at the admission that adds finalizers, and on a
// conflict with another writer, so it is retried.
func Label(p *platform.Platform, namespace, kinds, label string) run.Action {
	return func(ctx context.Context, s *run.Step) error {
		return s.Until(ctx, "all objects have the label "+label, func(ctx context.Context) error {
			_, err := p.Kubectl(ctx, "", "label", "-n", namespace, kinds, "--all", "--overwrite", label)
			return err
		})
	}
}

func (i *scenario) delete(half string) run.Action {
	return func(ctx context.Context, s *run.Step) error {
		return Delete(i.Platform, namespace, i.allKinds(), "-l", "half="+half)(ctx, s)
	}
}

// Delete deletes the objects that the arguments of kubectl select, and waits until they no longer exist: the ingester removes
// its finalizer after the write to MySQL.
func Delete(p *platform.Platform, namespace string, selection ...string) run.Action {
	return func(ctx context.Context, s *run.Step) error {
		if _, err := p.Kubectl(ctx, "", append([]string{"delete", "-n", namespace, "--wait=false"}, selection...)...); err != nil {
			return err
		}
		return s.Until(ctx, "the deleted objects no longer exist", func(ctx context.Context) error {
			left, err := p.Kubectl(ctx, "", append([]string{"get", "-n", namespace, "-o", "name", "--ignore-not-found"}, selection...)...)
			if n := len(strings.Fields(left)); err == nil && n > 0 {
				err = fmt.Errorf("%d objects still exist", n)
			}
			return err
		})
	}
}

func (i *scenario) kill(ctx context.Context, s *run.Step) error {
	s.Log("MySQL's pod is killed")
	return i.KillPods(ctx, i.Data, platform.MySQL)
}

// move evicts the pod, as `kubectl drain` does. The StatefulSet re-creates it with the same volume and another address; on
// a cluster of one node it returns to the same node.
func (i *scenario) move(ctx context.Context, s *run.Step) error {
	before, err := i.mysqlPod(ctx)
	if err != nil {
		return err
	}
	s.Log("MySQL's pod is evicted")
	if err := i.EvictPod(ctx, s, before); err != nil {
		return err
	}
	from := platform.Text(before, "status", "podIP")
	return s.Until(ctx, "MySQL has another address than "+from, func(ctx context.Context) error {
		now, err := i.mysqlPod(ctx)
		if err != nil {
			return err
		}
		to := platform.Text(now, "status", "podIP")
		if now.GetUID() == before.GetUID() || to == "" || to == from {
			return fmt.Errorf("the pod has the address %q", to)
		}
		if err := platform.IsTrue(now, "Ready"); err != nil {
			return err
		}
		s.Note("MySQL moved from %s to %s.", from, to)
		return nil
	})
}

func (i *scenario) mysqlPod(ctx context.Context) (*unstructured.Unstructured, error) {
	pods, err := i.List(ctx, cluster.Pod, i.Data, client.MatchingLabels(platform.MySQL))
	if err != nil {
		return nil, err
	}
	if len(pods) != 1 {
		return nil, fmt.Errorf("MySQL has %d pods", len(pods))
	}
	return &pods[0], nil
}

// restart sends SIGTERM to the process of MySQL's container, so the kubelet restarts it.
func (i *scenario) restart(ctx context.Context, s *run.Step) error {
	pod, err := i.mysqlPod(ctx)
	if err != nil {
		return err
	}
	s.Log("MySQL's container is terminated")
	_, err = i.Kubectl(ctx, "", "exec", "-n", i.Data, pod.GetName(), "--", "sh", "-c", "kill -TERM 1")
	return err
}

// Verify runs `ingester verify`, which repeats the comparison before it reports a difference.
func Verify(p *platform.Platform) run.Action {
	return func(ctx context.Context, s *run.Step) error {
		var lastOutput string
		err := s.Until(ctx, "ingester verify finds no difference", func(ctx context.Context) error {
			out, err := p.Kubectl(ctx, "", "exec", "-n", p.System, "deploy/ingester", "--", "/service", "verify")
			lastOutput = out
			return err
		})
		if err == nil {
			s.Note("ingester verify, exit code 0: %s", strings.Join(strings.Fields(lastOutput), " "))
		}
		return err
	}
}
