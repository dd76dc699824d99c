package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

var (
	nodes      = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	coreEvents = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
)

const (
	engineQueries = 3473
	// largestSpill is what this scenario writes at most: more is the disk of a machine, not that of a node of its own.
	largestSpill = 2 << 30
)

// Pressure fills the disk of a node by a query, so that the kubelet evicts the pod that runs it.
func Pressure(p *platform.Platform) run.Scenario {
	e, s := engineScenario(p, "engine-pressure", "A query fills the disk of its node, and the kubelet evicts the engine's pod "+
		"that runs it, while queries run through the gateway.", 2)
	s.Phases = []run.Phase{
		{Name: "steady", Do: e.Steady},
		{Name: "pressure", Do: e.pressure},
		{Name: "relief", Do: e.relief},
	}
	return s
}

// pressure lets the second pod write until the node has too little left, while it runs a query that mostly lasts until
// the pod is terminated: both must be answered too.
func (e *Engine) pressure(ctx context.Context, s *run.Step) error {
	if e.Simulated {
		return nil // no pod writes anything
	}
	victim, err := e.victim(ctx)
	if err != nil {
		return err
	}
	before, err := e.evicted(ctx)
	if err != nil {
		return err
	}
	answers, err := e.fill(ctx, s, victim)
	if err != nil {
		return err
	}
	if err := s.Until(ctx, "the kubelet evicts "+victim.GetName(), func(ctx context.Context) error {
		now, err := e.evicted(ctx)
		if err == nil && now[string(victim.GetUID())] == "" {
			err = fmt.Errorf("it has evicted %v", others(now, before))
		}
		return err
	}); err != nil {
		return err
	}
	if err := errors.Join(<-answers, <-answers); err != nil {
		return fmt.Errorf("a query in the evicted pod: %w", err)
	}
	if err := s.Until(ctx, victim.GetName()+" is replaced", func(ctx context.Context) error {
		now, err := e.Get(ctx, cluster.Pod, e.Namespace, victim.GetName())
		if err == nil && now.GetUID() == victim.GetUID() {
			err = fmt.Errorf("it is %s", platform.Text(now, "status", "phase"))
		}
		return err
	}); err != nil {
		return err
	}
	return e.evictedOnly(ctx, s, victim, before)
}

// fill starts the queries of the victim and waits until its node has DiskPressure. The channel receives their two results.
func (e *Engine) fill(ctx context.Context, s *run.Step, victim *unstructured.Unstructured) (<-chan error, error) {
	node := platform.Text(victim, "spec", "nodeName")
	size, err := e.spill(ctx, node)
	if err != nil {
		return nil, err
	}
	s.Log("%s writes %d MiB to the disk of node %s", victim.GetName(), size>>20, node)
	answers := make(chan error, 2)
	for _, query := range []string{fmt.Sprintf("/?spill=%d", size), "/?sleep=30s"} {
		go func() {
			_, err := e.Pod(ctx, http.MethodPost, e.Namespace, victim.GetName(), engineQueries, query)
			answers <- err
		}()
	}
	return answers, s.Until(ctx, "node "+node+" has DiskPressure", func(ctx context.Context) error {
		return e.nodeSays(ctx, node, "True")
	})
}

// evictedOnly fails if the kubelet evicted others than the victim since before.
func (e *Engine) evictedOnly(ctx context.Context, s *run.Step, victim *unstructured.Unstructured, before map[string]string) error {
	now, err := e.evicted(ctx)
	if err != nil {
		return err
	}
	s.Note("%s", now[string(victim.GetUID())])
	before[string(victim.GetUID())] = "wanted"
	if more := others(now, before); len(more) > 0 {
		return fmt.Errorf("others were evicted as well: %v", more)
	}
	return nil
}

// relief waits until the node takes pods again and the engine is whole.
func (e *Engine) relief(ctx context.Context, s *run.Step) error {
	all, err := e.List(ctx, nodes, "")
	if err != nil {
		return err
	}
	for i := range all {
		name := all[i].GetName()
		if err := s.Until(ctx, "node "+name+" has no DiskPressure", func(ctx context.Context) error {
			return e.nodeSays(ctx, name, "False")
		}); err != nil && !e.Simulated {
			return err
		}
	}
	if err := e.Rolled(ctx, s, -1); err != nil {
		return err
	}
	return e.Steady(ctx, s)
}

// victim is the engine's second pod.
func (e *Engine) victim(ctx context.Context) (*unstructured.Unstructured, error) {
	serving, err := e.Serving(ctx)
	if err != nil {
		return nil, err
	}
	return e.Get(ctx, cluster.Pod, e.Namespace, fmt.Sprintf("etl-g%d-1", serving))
}

func (e *Engine) nodeSays(ctx context.Context, name, want string) error {
	node, err := e.Get(ctx, nodes, "", name)
	if err != nil {
		return err
	}
	if status, reason := platform.Condition(node, "DiskPressure"); status != want {
		return fmt.Errorf("DiskPressure is %q (%s)", status, reason)
	}
	return nil
}

// evicted are the pods that kubelets have evicted, by their UID, with the reason in words.
func (e *Engine) evicted(ctx context.Context) (map[string]string, error) {
	all, err := e.List(ctx, coreEvents, "")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for i := range all {
		if o := &all[i]; platform.Text(o, "reason") == "Evicted" {
			out[platform.Text(o, "involvedObject", "uid")] = "Evicted " + platform.Text(o, "involvedObject", "name") + ": " + platform.Text(o, "message")
		}
	}
	return out, nil
}

// others are those that came since.
func others(now, before map[string]string) []string {
	var out []string
	for uid, what := range now {
		if before[uid] == "" {
			out = append(out, what)
		}
	}
	return out
}

// spill is how many bytes leave a node less than its soft threshold and more than its hard one.
func (e *Engine) spill(ctx context.Context, node string) (int64, error) {
	var kubelet struct {
		Config struct {
			EvictionSoft, EvictionHard map[string]string
		} `json:"kubeletconfig"`
	}
	var stats struct {
		Node struct {
			FS struct{ AvailableBytes, CapacityBytes int64 }
		}
	}
	for path, into := range map[string]any{"configz": &kubelet, "stats/summary": &stats} {
		answer, err := e.Kubectl(ctx, "", "get", "--raw", "/api/v1/nodes/"+node+"/proxy/"+path)
		if err != nil {
			return 0, err
		}
		if err := json.Unmarshal([]byte(answer), into); err != nil {
			return 0, fmt.Errorf("read %s of the kubelet: %w", path, err)
		}
	}
	return toSpill(stats.Node.FS.AvailableBytes, stats.Node.FS.CapacityBytes,
		kubelet.Config.EvictionSoft["nodefs.available"], kubelet.Config.EvictionHard["nodefs.available"])
}

func toSpill(available, capacity int64, soft, hard string) (int64, error) {
	const advice = "; `make up NODE=real` has a kubelet as this scenario wants it (tools/stack/internal/node/files/kubelet.yaml)"
	if soft == "" {
		return 0, fmt.Errorf("the kubelet has no evictionSoft for nodefs.available, and by a hard threshold pods get one second%s", advice)
	}
	above, err := threshold(soft, capacity)
	if err != nil {
		return 0, err
	}
	below, err := threshold(hard, capacity)
	if err != nil {
		return 0, err
	}
	size := available - (above+below)/2
	if below >= above || size <= 0 || size > largestSpill {
		return 0, fmt.Errorf("the node's disk has %d MiB, evicts from %q on and at once from %q on: "+
			"there is no spill of at most %d MiB that lies between%s", available>>20, soft, hard, largestSpill>>20, advice)
	}
	return size, nil
}

// threshold is a quantity, or a share of all.
func threshold(word string, capacity int64) (int64, error) {
	if word == "" {
		return 0, nil
	}
	if share, ok := strings.CutSuffix(word, "%"); ok {
		percent, err := strconv.ParseFloat(share, 64)
		if err != nil {
			return 0, fmt.Errorf("threshold %q: %w", word, err)
		}
		return int64(percent / 100 * float64(capacity)), nil
	}
	quantity, err := resource.ParseQuantity(word)
	if err != nil {
		return 0, fmt.Errorf("threshold %q: %w", word, err)
	}
	return quantity.Value(), nil
}
