// Package bus contains the scenario of the bus.
package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/test/e2e/eventcheck"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
	"github.com/flotilla-dev/flotilla/test/e2e/subscriber"
	"github.com/flotilla-dev/flotilla/test/e2e/timeline"
)

const (
	// namespace is the only namespace whose events the external subscriber may read.
	namespace = "team-a"
	watcher   = "watcher" // bus identity of the subscriber, and its consumer
	// clusterName is the name of the cluster on the bus.
	clusterName = "local"
)

// scenario changes two Supersets during outages of the bus, and checks their conditions and the published events.
type scenario struct {
	*platform.Platform
	recorder *eventcheck.Recorder
	outside  *subscriber.Subscriber
	reader   subscriber.Access
	outages  []eventcheck.Outage
	wiped    int
}

// Disruptions kills NATS, stops it, and deletes its volume while a subscriber outside the cluster reads its events.
func Disruptions(p *platform.Platform) run.Scenario {
	b := &scenario{Platform: p, recorder: eventcheck.NewRecorder()}
	return run.Scenario{
		Name: "bus-disruptions", Limit: 20 * time.Minute, Services: []string{"superset-operator", "status-aggregator"},
		Title: "Two Supersets change while NATS's pod is killed, then is down, then loses its volume. Their " +
			"conditions are always correct, and a subscriber outside the cluster receives each change once.",
		Watch: []timeline.Object{
			{GVK: platform.Supersets, Namespace: namespace, Name: "desk"}, {GVK: platform.Supersets, Namespace: namespace, Name: "till"},
		},
		Prepare: b.prepare,
		Phases: []run.Phase{
			{Name: "steady", Do: run.InOrder(b.pauseAndStop, b.resume, b.verifyEvents)},
			{Name: "NATS is killed", Do: b.kill},
			{Name: "NATS is down", Do: b.changeWhileDown},
			{Name: "NATS loses its volume", Do: b.wipe},
			// An administrator upgrades the chart, whose Job creates the streams, and creates the consumer.
			{Name: "streams are re-created", Do: run.InOrder(
				b.bootstrap, b.makeConsumer, b.waitForRecovery, b.verifyEvents, b.pauseAndStop, b.verifyEvents)},
			{Name: "delete", Do: b.remove},
		},
		Clean: func(ctx context.Context, s *run.Step) error {
			// Restore NATS after a failure too, since other scenarios need the bus.
			err := errors.Join(b.scaleNATS(ctx, 1), b.Ready(ctx, s, b.Data, platform.NATS, 1))
			if b.wiped > 0 {
				err = errors.Join(err, b.bootstrap(ctx, s))
			}
			return errors.Join(err, p.RemoveNamespace(ctx, namespace))
		},
	}
}

func (b *scenario) prepare(ctx context.Context, s *run.Step) (run.Loadgen, error) {
	if err := b.MakeNamespace(ctx, namespace); err != nil {
		return nil, err
	}
	if err := b.subscribe(ctx, s); err != nil {
		return nil, err
	}
	go b.recorder.Watch(ctx, b.Client, platform.Supersets, namespace)
	for _, name := range []string{"desk", "till"} {
		if err := b.ApplyManifest(ctx, namespace, "bus.yaml", "${NAME}", name); err != nil {
			return nil, err
		}
	}
	if err := b.conditions(ctx, s, running, running); err != nil {
		return nil, err
	}
	return nil, b.verifyEvents(ctx, s)
}

// kill force-deletes NATS's pod twice for each change: just before it, and at a random time during it.
func (b *scenario) kill(ctx context.Context, s *run.Step) error {
	for _, change := range []run.Action{b.pauseAndStop, b.resume} {
		b.startOutage(s)
		if err := b.KillPods(ctx, b.Data, platform.NATS); err != nil {
			return err
		}
		secondKill := make(chan error, 1)
		go func() {
			err := s.Pass(ctx, time.Duration(b.Intn(8000))*time.Millisecond)
			if err == nil {
				err = b.KillPods(ctx, b.Data, platform.NATS)
			}
			secondKill <- err
		}()
		if err := errors.Join(change(ctx, s), <-secondKill, b.waitForRecovery(ctx, s)); err != nil {
			return err
		}
	}
	return b.verifyEvents(ctx, s)
}

// changeWhileDown changes both Supersets while NATS is down. The operators write the conditions, and the aggregator publishes the
// changes once NATS is available.
func (b *scenario) changeWhileDown(ctx context.Context, s *run.Step) error {
	b.startOutage(s)
	if err := errors.Join(b.scaleNATS(ctx, 0), b.noNATS(ctx, s)); err != nil {
		return err
	}
	before := len(b.outside.Events())
	if err := b.pauseAndStop(ctx, s); err != nil {
		return err
	}
	if n := len(b.outside.Events()) - before; n > 0 {
		return fmt.Errorf("received %d events while NATS was down", n)
	}
	s.Note("While NATS was down the operators wrote the conditions.")
	if err := errors.Join(b.scaleNATS(ctx, 1), b.waitForRecovery(ctx, s)); err != nil {
		return err
	}
	if err := b.verifyEvents(ctx, s); err != nil {
		return err
	}
	s.Note("%d events about these changes arrived afterwards.", len(b.outside.Events())-before)
	return nil
}

// wipe deletes NATS's volume with its pod. No service re-creates the streams, and the conditions stay current.
func (b *scenario) wipe(ctx context.Context, s *run.Step) error {
	b.startOutage(s)
	b.wiped++
	if err := b.deleteVolume(ctx, s); err != nil {
		return err
	}
	if err := b.Ready(ctx, s, b.Data, platform.NATS, 1); err != nil {
		return err
	}
	if err := b.resume(ctx, s); err != nil {
		return err
	}
	_, err := subscriber.Stored(ctx, b.reader, clusterName, namespace)
	if err == nil {
		return errors.New("NATS without its volume must have no streams until bootstrap creates them")
	}
	if !errors.Is(err, subscriber.ErrNoStream) {
		return fmt.Errorf("NATS without its volume must have no streams until bootstrap creates them, got %w", err)
	}
	s.Note("On a bus without streams the operators wrote the conditions.")
	return nil
}

// remove deletes both Supersets and notes the totals in the report.
func (b *scenario) remove(ctx context.Context, s *run.Step) error {
	if _, err := b.Kubectl(ctx, "", "delete", "-n", namespace, "superset/desk", "superset/till", "--timeout=3m"); err != nil {
		return err
	}
	if err := b.verifyEvents(ctx, s); err != nil {
		return err
	}
	lives, err := b.recorder.Histories()
	changes, phases := 0, 0
	for _, l := range lives {
		c, p := l.Changes()
		changes, phases = changes+c, phases+p
	}
	s.Note("%d changes of conditions and %d of phases; the subscriber received %d events, each once by its id; %d were redelivered and deduplicated.",
		changes, phases, len(b.outside.Events()), b.outside.Repeated())
	return errors.Join(err, b.outside.Problems())
}

func (b *scenario) startOutage(s *run.Step) {
	b.outages = append(b.outages, eventcheck.Outage{From: s.Now()})
}

// waitForRecovery waits until the aggregator writes conditions again, which ends the outage.
func (b *scenario) waitForRecovery(ctx context.Context, s *run.Step) error {
	if err := b.Ready(ctx, s, b.Data, platform.NATS, 1); err != nil {
		return err
	}
	since := s.Now()
	const name, what = "flotilla-conditions", "the aggregator holds the Lease flotilla-conditions"
	if err := b.Object(platform.Leases, b.System, name).Await(ctx, s, what, func(lease *unstructured.Unstructured) error {
		renewed, err := time.Parse(time.RFC3339, platform.Text(lease, "spec", "renewTime"))
		if err != nil || renewed.Before(since) {
			return fmt.Errorf("last renewed at %s by %s",
				platform.Text(lease, "spec", "renewTime"), platform.Text(lease, "spec", "holderIdentity"))
		}
		return nil
	}); err != nil {
		return err
	}
	s.Log("the aggregator writes conditions again after %s", s.Now().Sub(b.outages[len(b.outages)-1].From).Round(time.Second))
	return nil
}

// verifyEvents waits until the subscriber has received each change once and no other event, then closes the outages.
func (b *scenario) verifyEvents(ctx context.Context, s *run.Step) error {
	if err := s.Until(ctx, "the external subscriber received each change once", func(ctx context.Context) error {
		if err := b.outside.CheckQuiet(); err != nil {
			return err
		}
		lives, err := b.recorder.Histories()
		if err != nil {
			return err
		}
		const objects = 2
		if len(lives) != objects {
			return fmt.Errorf("observed %d objects, want %d", len(lives), objects)
		}
		events := b.outside.Events()
		problems := []error{b.outside.Problems()}
		for uid, l := range lives {
			problems = append(problems, eventcheck.Compare(uid, l, events, b.wiped+1, b.outages))
		}
		stored, err := subscriber.Stored(ctx, b.reader, clusterName, namespace)
		return errors.Join(append(problems, err, eventcheck.Agree(lives, events, stored, b.wiped == 0))...)
	}); err != nil {
		return err
	}
	for i := range b.outages {
		if b.outages[i].To.IsZero() {
			b.outages[i].To = s.Now()
		}
	}
	return nil
}

// sixConditions maps each of the six condition types to its expected status and reason.
type sixConditions map[string][2]string

// conditions waits until both Supersets have the expected conditions for their latest generation.
func (b *scenario) conditions(ctx context.Context, s *run.Step, desk, till sixConditions) error {
	for _, want := range []struct {
		name string
		sixConditions
	}{{"desk", desk}, {"till", till}} {
		what := "the conditions of " + want.name + " are correct"
		if err := b.Object(platform.Supersets, namespace, want.name).Await(ctx, s, what, want.of); err != nil {
			return err
		}
	}
	return nil
}

func (want sixConditions) of(o *unstructured.Unstructured) error {
	var problems []error
	for _, conditionType := range timeline.Types {
		status, reason := platform.Condition(o, conditionType)
		if got := [2]string{status, reason}; got != want[conditionType] {
			problems = append(problems, fmt.Errorf("%s is %s/%s instead of %s/%s", conditionType, status, reason,
				want[conditionType][0], want[conditionType][1]))
		}
	}
	return errors.Join(problems...)
}
