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
	// maxFill limits the bytes that the scenario writes: a node that needs more uses the disk of its machine.
	maxFill = 2 << 30
)

// Pressure fills the disk of a node with a query, so the kubelet evicts the pod that runs the query.
func Pressure(p *platform.Platform) run.Scenario {
	e, s := engineScenario(p, "engine-pressure", "A query fills the disk of its node, and the kubelet evicts the engine's pod "+
		"that runs it, while queries run through the gateway.", 2)
	s.Phases = []run.Phase{
		{Name: "steady", Do: e.Steady},
		{Name: "pressure", Do: e.pressure},
		{Name: "relief", Do: run.InOrder(e.waitForRelief, e.rolled, e.Steady)},
	}
	return s
}

// pressure sends two queries to the second pod: one fills the disk of the node, the other usually runs until the pod is
// terminated. Both must succeed.
func (e *Engine) pressure(ctx context.Context, s *run.Step) error {
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
			err = fmt.Errorf("it evicted %v", others(now, before))
		}
		return err
	}); err != nil {
		return err
	}
	if err := errors.Join(<-answers, <-answers); err != nil {
		return fmt.Errorf("query in the evicted pod: %w", err)
	}
	what := victim.GetName() + " is replaced"
	if err := e.Object(cluster.Pod, e.Namespace, victim.GetName()).Await(ctx, s, what, func(now *unstructured.Unstructured) error {
		if now.GetUID() == victim.GetUID() {
			return fmt.Errorf("the pod is %s", platform.Text(now, "status", "phase"))
		}
		return nil
	}); err != nil {
		return err
	}
	return e.checkOnlyEviction(ctx, s, victim, before)
}

// fill starts two queries in the victim and waits until its node has DiskPressure. The channel receives their results.
func (e *Engine) fill(ctx context.Context, s *run.Step, victim *unstructured.Unstructured) (<-chan error, error) {
	node := platform.Text(victim, "spec", "nodeName")
	size, err := e.requiredFill(ctx, node)
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
	return answers, e.nodePressure(ctx, s, node, "True")
}

// checkOnlyEviction returns an error if a kubelet evicted a pod other than the victim after before was read.
func (e *Engine) checkOnlyEviction(ctx context.Context, s *run.Step, victim *unstructured.Unstructured, before map[string]string) error {
	now, err := e.evicted(ctx)
	if err != nil {
		return err
	}
	s.Note("%s", now[string(victim.GetUID())])
	before[string(victim.GetUID())] = "wanted"
	if more := others(now, before); len(more) > 0 {
		return fmt.Errorf("other pods were evicted too: %v", more)
	}
	return nil
}

// waitForRelief waits until no node has DiskPressure.
func (e *Engine) waitForRelief(ctx context.Context, s *run.Step) error {
	all, err := e.List(ctx, nodes, "")
	if err != nil {
		return err
	}
	for i := range all {
		if err := e.nodePressure(ctx, s, all[i].GetName(), "False"); err != nil {
			return err
		}
	}
	return nil
}

// victim returns the engine's second pod.
func (e *Engine) victim(ctx context.Context) (*unstructured.Unstructured, error) {
	serving, err := e.Serving(ctx)
	if err != nil {
		return nil, err
	}
	return e.Get(ctx, cluster.Pod, e.Namespace, fmt.Sprintf("etl-g%d-1", serving))
}

// busyVictim returns the second pod of the generation that serves, after the queries of earlier phases have ended.
func (e *Engine) busyVictim(ctx context.Context, s *run.Step) (*unstructured.Unstructured, error) {
	victim, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	return victim, s.Pass(ctx, longestQuery)
}

// nodePressure waits until the condition DiskPressure of a node has this status.
func (e *Engine) nodePressure(ctx context.Context, s *run.Step, name, want string) error {
	what := fmt.Sprintf("condition DiskPressure of node %s is %s", name, want)
	return e.Object(nodes, "", name).Await(ctx, s, what, func(node *unstructured.Unstructured) error {
		if status, reason := platform.Condition(node, "DiskPressure"); status != want {
			return fmt.Errorf("DiskPressure is %q (%s)", status, reason)
		}
		return nil
	})
}

// evicted returns the message of the Evicted event of each evicted pod, by the UID of the pod.
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

// others returns the entries of now that before does not contain.
func others(now, before map[string]string) []string {
	var out []string
	for uid, what := range now {
		if before[uid] == "" {
			out = append(out, what)
		}
	}
	return out
}

// requiredFill returns the number of bytes to write so that the free disk space of the node ends between its soft and its hard
// eviction threshold.
func (e *Engine) requiredFill(ctx context.Context, node string) (int64, error) {
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
		output, err := e.Kubectl(ctx, "", "get", "--raw", "/api/v1/nodes/"+node+"/proxy/"+path)
		if err != nil {
			return 0, err
		}
		if err := json.Unmarshal([]byte(output), into); err != nil {
			return 0, fmt.Errorf("read %s of the kubelet: %w", path, err)
		}
	}
	return fillSize(stats.Node.FS.AvailableBytes, stats.Node.FS.CapacityBytes,
		kubelet.Config.EvictionSoft["nodefs.available"], kubelet.Config.EvictionHard["nodefs.available"])
}

func fillSize(available, capacity int64, soft, hard string) (int64, error) {
	const hint = "; `make up NODE=real` configures the kubelet for this scenario (tools/stack/internal/node/files/kubelet.yaml)"
	if soft == "" {
		return 0, fmt.Errorf("the kubelet has no evictionSoft for nodefs.available; a hard threshold gives pods a grace period of only one second%s", hint)
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
	if below >= above || size <= 0 || size > maxFill {
		return 0, fmt.Errorf("the node's disk has %d MiB available, and the thresholds are %q (soft) and %q (hard): "+
			"no spill of at most %d MiB ends between them%s", available>>20, soft, hard, maxFill>>20, hint)
	}
	return size, nil
}

// threshold returns the bytes of an eviction threshold, which is a quantity or a percentage of capacity.
func threshold(text string, capacity int64) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if share, ok := strings.CutSuffix(text, "%"); ok {
		percent, err := strconv.ParseFloat(share, 64)
		if err != nil {
			return 0, fmt.Errorf("threshold %q: %w", text, err)
		}
		return int64(percent / 100 * float64(capacity)), nil
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, fmt.Errorf("threshold %q: %w", text, err)
	}
	return quantity.Value(), nil
}
