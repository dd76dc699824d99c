package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/ingester"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

// settleTimeout is how long conditions may differ after an upgrade.
const settleTimeout = 2 * time.Minute

// userState is the state of the users' pods and conditions. An upgrade without other changes must not change it.
type userState struct {
	pods       map[string]string // UID and restarts by pod
	conditions map[string]string // status, reason and transition time, without conditions that small changes affect
}

func (u *upgrades) userState(ctx context.Context) (userState, error) {
	now := userState{map[string]string{}, map[string]string{}}
	pods, err := u.List(ctx, cluster.Pod, namespace)
	if err != nil {
		return now, err
	}
	for i := range pods {
		if pods[i].GetDeletionTimestamp() != nil {
			continue // an earlier change deleted it
		}
		restarts, err := platform.Restarts(&pods[i])
		if err != nil {
			return now, err
		}
		now.pods[pods[i].GetName()] = fmt.Sprintf("UID %s with %d restarts", pods[i].GetUID(), restarts)
	}
	for name, kind := range map[string]schema.GroupVersionKind{
		"shop": platform.Supersets, "etl": platform.Engines, "main": platform.Instances,
	} {
		o, err := u.Get(ctx, kind, namespace, name)
		if err == nil {
			err = now.add(o)
		}
		if err != nil {
			return now, err
		}
	}
	return now, nil
}

// add records the conditions of an object, except those that change while a generation is not yet observed.
func (n userState) add(o *unstructured.Unstructured) error {
	entries, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		c, ok := entry.(map[string]any)
		if !ok || c["type"] == "Progressing" || c["type"] == "Upgradable" {
			continue
		}
		n.conditions[fmt.Sprintf("%s %v", o.GetName(), c["type"])] = fmt.Sprintf("%v (%v) since %v", c["status"], c["reason"], c["lastTransitionTime"])
	}
	return nil
}

// unchanged waits until pods and conditions equal before. UIDs and transition times also reveal a change that was
// reverted.
func (u *upgrades) unchanged(ctx context.Context, s *run.Step, before userState) error {
	bounded, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	return s.Until(bounded, "pods and conditions of users are unchanged", func(ctx context.Context) error {
		now, err := u.userState(ctx)
		if err != nil {
			return err
		}
		return errors.Join(differences("pod", before.pods, now.pods), differences("condition", before.conditions, now.conditions))
	})
}

// differences lists deleted and changed entries, and added pods. A later release may add conditions.
func differences(kind string, before, now map[string]string) error {
	var problems []error
	for name, was := range before {
		if is := now[name]; is != was {
			problems = append(problems, fmt.Errorf("%s %s changed from %s to %q", kind, name, was, is))
		}
	}
	if kind == "pod" {
		for name := range maps.Keys(now) {
			if before[name] == "" {
				problems = append(problems, fmt.Errorf("pod %s is new", name))
			}
		}
	}
	return errors.Join(problems...)
}

// touch makes a change for each operator that requires no new pods, and waits for its effect, to verify that the
// replaced services work. The aggregator writes the conditions that it waits for.
func (u *upgrades) touch(ctx context.Context, s *run.Step) error {
	u.touches++
	generation, err := u.engine.Serving(ctx)
	if err != nil {
		return err
	}
	if err := u.engine.Edit(ctx, s, fmt.Sprintf(`{"spec":{"progressDeadline":"%dm"}}`, 20+u.touches)); err != nil {
		return err
	}
	change := fmt.Sprintf(`{"spec":{"webServer":{"service":{"annotations":{"touched":"%d"}}}}}`, u.touches)
	if err := u.Patch(ctx, platform.Supersets, namespace, "shop", change); err != nil {
		return err
	}
	what := "engine etl has observed its change"
	if err := u.Object(platform.Engines, namespace, "etl").Await(ctx, s, what, func(o *unstructured.Unstructured) error {
		return u.engine.Settled(o, generation-1)
	}); err != nil {
		return err
	}
	now, err := u.engine.Serving(ctx)
	if err != nil {
		return err
	}
	if now != generation {
		return fmt.Errorf("got generation %d after a change that requires no rollout, want %d", now, generation)
	}
	what = "the Service of shop has its annotation"
	if err := u.Object(platform.Services, namespace, "shop-web-server").Await(ctx, s, what, func(o *unstructured.Unstructured) error {
		if o.GetAnnotations()["touched"] != fmt.Sprint(u.touches) {
			return fmt.Errorf("the Service has the annotations %v", o.GetAnnotations())
		}
		return nil
	}); err != nil {
		return err
	}
	if err := u.running(ctx, s); err != nil {
		return err
	}
	return u.createAndDelete(ctx, s, fmt.Sprintf("touch-%d", u.touches), 1)
}

// running waits until the Superset matches its spec.
func (u *upgrades) running(ctx context.Context, s *run.Step) error {
	const what = "Superset shop matches its spec"
	return u.Object(platform.Supersets, namespace, "shop").Await(ctx, s, what, func(o *unstructured.Unstructured) error {
		tag, phase := platform.Text(o, "spec", "image", "tag"), platform.Text(o, "status", "phase")
		if version := platform.Text(o, "status", "version"); phase != "Running" || version != tag {
			return fmt.Errorf("phase is %q, version is %q, want %q", phase, version, tag)
		}
		if platform.Number(o, "status", "observedGeneration") != o.GetGeneration() {
			return fmt.Errorf("generation %d is not yet observed", o.GetGeneration())
		}
		return errors.Join(platform.IsTrue(o, "Available"), platform.IsTrue(o, "Ready"), platform.IsTrue(o, "LifecycleComplete"))
	})
}

// projects creates, changes and deletes projects while services are replaced; half of them stay for verify.
func (u *upgrades) projects(ctx context.Context, s *run.Step) error {
	for round := range 3 {
		if err := u.createAndDelete(ctx, s, fmt.Sprintf("%s-%d-%d", u.tag, u.touches, round), 5); err != nil {
			return err
		}
	}
	return nil
}

// createAndDelete creates projects, changes them, deletes every other one and waits for the end of the deletion.
func (u *upgrades) createAndDelete(ctx context.Context, s *run.Step, name string, pairs int) error {
	var items []any
	var created []string
	for i := range 2 * pairs {
		one := fmt.Sprintf("%s-%d", name, i)
		items = append(items, map[string]any{
			"apiVersion": "michelangelo.api/v2", "kind": "Project", "metadata": map[string]any{"name": one},
			"spec": map[string]any{"description": "created during " + name, "tier": 2},
		})
		if i%2 == 0 {
			created = append(created, "project.michelangelo.api/"+one)
		}
	}
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		return err
	}
	if err := u.Apply(ctx, namespace, string(list)); err != nil {
		return err
	}
	return run.InOrder(
		ingester.Label(u.Platform, namespace, "projects.michelangelo.api", "during="+name),
		ingester.Delete(u.Platform, namespace, created...),
	)(ctx, s)
}
