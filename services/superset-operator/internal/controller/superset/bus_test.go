package superset_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

func TestObservationIsPublished(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t)
	observations, lastObservation := connect(t, server.URL())
	e := start(t, options{observations: observations})
	sup := e.create(e.sample("development.yaml"))
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	expect.Condition(t, e.client, sup, "Available", metav1.ConditionTrue)
	expect.Eventually(t, timeout, func() error {
		o, err := lastObservation(e.namespace)
		if err != nil {
			return err
		}
		if o.Phase != "Running" || o.Object.UID != string(sup.UID) || o.Observer.Name != names.FieldManager || len(o.Units) != 1 {
			return fmt.Errorf("observation %+v", o)
		}
		return nil
	})

	e.edit(sup, func(s *v1alpha1.Superset) { s.Annotations = map[string]string{"operator-command": "Paused"} })
	expect.Eventually(t, timeout, func() error {
		o, err := lastObservation(e.namespace)
		if err != nil {
			return err
		}
		if !o.Intent.Paused || !strings.Contains(o.Intent.PausedBy, "operator-command") {
			return fmt.Errorf("intent %+v", o.Intent)
		}
		return nil
	})

	// While the bus is unavailable the operator keeps reconciling; after the reconnect it publishes the latest
	// state.
	server.Stop()
	e.edit(sup, func(s *v1alpha1.Superset) { s.Annotations = nil; s.Spec.WebServer.Replicas = new(int32(3)) })
	e.waitFor(sup, func(s *v1alpha1.Superset) error {
		if s.Status.Ready != "3/3" {
			return fmt.Errorf("ready %s", s.Status.Ready)
		}
		return nil
	})
	server.Start()
	expect.Eventually(t, timeout, func() error {
		o, err := lastObservation(e.namespace)
		if err != nil {
			return err
		}
		if o.Intent.Paused || o.Units[0].Available != 3 {
			return fmt.Errorf("observation %+v", o)
		}
		return nil
	})
}

// connect opens a bus as the service does, and returns a function that reads the last observation of the sample.
func connect(t *testing.T, url string) (*bus.ObservationPublisher, func(namespace string) (contract.Observation, error)) {
	t.Helper()
	conn, err := bus.Connect(bus.Config{URL: url, Name: names.FieldManager, Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	expect.Eventually(t, timeout, func() error { return bus.Bootstrap(t.Context(), conn.JetStream(), bus.DefaultParams()) })
	publisher := bus.NewPublisher(conn)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- publisher.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the publisher returned: %v", err)
		}
		if err := conn.Close(context.Background()); err != nil {
			t.Logf("close the bus: %v", err)
		}
	})
	observer := contract.Observer{Name: names.FieldManager, Instance: "test"}
	return bus.NewObservationPublisher(publisher, "test", observer, func() int64 { return 1 }), func(namespace string) (contract.Observation, error) {
		ref := contract.Ref{Cluster: "test", Namespace: namespace, Kind: contract.Superset, Name: "development"}
		subject, err := contract.ObservationSubject(ref, names.FieldManager)
		if err != nil {
			return contract.Observation{}, err
		}
		stream, err := conn.JetStream().Stream(t.Context(), contract.StreamObservations)
		if err != nil {
			return contract.Observation{}, err
		}
		msg, err := stream.GetLastMsgForSubject(t.Context(), subject)
		if err != nil {
			return contract.Observation{}, err
		}
		_, o, err := contract.Decode[contract.Observation](msg.Data)
		return o, err
	}
}
