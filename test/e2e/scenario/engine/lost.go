package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

const (
	lostNode      = "lost-node"
	lostNamespace = "kube-system" // the pod needs the network of the node, which other namespaces of the scenarios forbid
	// outage is longer than the gateway takes to notice the loss of a connection, and shorter than the liveness probe, which
	// the kubelet of a lost node would not run.
	outage = 25 * time.Second
)

// loseNode drops all packets from and to one pod for a while. The other pods answer within the interval of the gateway's
// health checks, the queries in the lost pod fail within seconds, and none is executed twice. The pod reports what it
// executed once it can be reached again.
func (e *Engine) loseNode(ctx context.Context, s *run.Step) (err error) {
	victim, err := e.busyVictim(ctx, s)
	if err != nil {
		return err
	}
	if err := e.removeLostNode(ctx); err != nil { // of an interrupted run
		return err
	}
	if err := e.ApplyManifest(ctx, lostNamespace, "lost-node.yaml", "${NODE}", platform.Text(victim, "spec", "nodeName"),
		"${ADDRESS}", platform.Text(victim, "status", "podIP"), "${SECONDS}", strconv.Itoa(int(outage.Seconds()))); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.removeLostNode(context.WithoutCancel(ctx))) }()
	for _, want := range []string{"False", "True"} {
		what := fmt.Sprintf("condition Ready of %s is %s", victim.GetName(), want)
		if err := e.Object(cluster.Pod, e.Namespace, victim.GetName()).Await(ctx, s, what, func(now *unstructured.Unstructured) error {
			return readiness(victim, now, want)
		}); err != nil {
			return fmt.Errorf("%w; %s", err, e.Explain(ctx, lostNamespace, lostNode))
		}
	}
	if err := e.rolled(ctx, s); err != nil {
		return err
	}
	return errors.Join(e.checkLongestGap(ctx, s), e.checkLostQueries(ctx))
}

// readiness returns an error unless the pod is the same as before and its condition Ready has this status.
func readiness(pod, now *unstructured.Unstructured, want string) error {
	before, err := platform.Restarts(pod)
	if err != nil {
		return err
	}
	after, err := platform.Restarts(now)
	if err != nil {
		return err
	}
	if now.GetUID() != pod.GetUID() || after != before {
		return fmt.Errorf("%s was replaced or restarted", pod.GetName())
	}
	if got, reason := platform.Condition(now, "Ready"); got != want {
		return fmt.Errorf("it is %s (%s)", got, reason)
	}
	return nil
}

// checkLostQueries checks the answers of the present phase.
func (e *Engine) checkLostQueries(ctx context.Context) error {
	now, err := e.loadgen.Current(ctx)
	if err != nil {
		return err
	}
	return lostQueries(now)
}

// lostQueries returns an error if queries got no answer, or got one later than those that run in a lost pod may. One query may:
// keepalive does not bound the time of one that the gateway is sending at the moment of the loss, and TCP sends it again once
// the pod can be reached (docs/gateway.md of the operator, lost nodes).
func lostQueries(f load.Figures) error {
	if late := f.Late() + f.Classes[load.Timeout]; late > 1 {
		return fmt.Errorf("%d answers took longer than %d s: %v", late, load.LastBound, f.Classes)
	}
	return nil
}

func (e *Engine) removeLostNode(ctx context.Context) error {
	_, err := e.Kubectl(ctx, "", "delete", "pod", lostNode, "-n", lostNamespace, "--ignore-not-found", "--wait", "--timeout=60s")
	return err
}
