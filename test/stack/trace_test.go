package stack_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/otlp"
)

// tracing starts a receiver of spans, and configures the services that start later to send their spans to it.
func tracing(t *testing.T) *otlp.Receiver {
	t.Helper()
	r := otlp.Start(t)
	for _, entry := range r.Env() {
		name, value, _ := strings.Cut(entry, "=")
		t.Setenv(name, value)
	}
	return r
}

// change is a change of a spec, with the resulting generation.
type change struct {
	kind       schema.GroupVersionKind
	name, uid  string
	generation string
	at         time.Time
}

// tracePath is a chain of spans from the first reconcile of a change to one of its effects, in
// the form "service: span" and root first. There are no other spans between them.
type tracePath []string

// traceIsComplete changes the specs of the Superset and of the engine named "seen" and
// of a Model, and expects one trace for each change, through all services that process it.
func (s *suite) traceIsComplete(t *testing.T, spans *otlp.Receiver) {
	t.Helper()
	s.apply(t, models, "traced", map[string]any{"description": "before"})
	expect.Eventually(t, timeout, func() error { return s.compareRows(t.Context(), models) })
	sup := s.change(t, supersets, "seen", `{"spec":{"forceReload":"traced"}}`)
	engine := s.change(t, engines, "seen", `{"spec":{"replicas":2}}`)
	model := s.change(t, models, "traced", `{"spec":{"description":"after"}}`)

	observed := func(kind, operator string) tracePath {
		return tracePath{
			operator + ": reconcile " + kind, operator + ": publish flotilla.obs",
			"status-aggregator: receive flotilla.obs", "status-aggregator: aggregate " + kind,
		}
	}
	for _, c := range []struct {
		change
		paths []tracePath
	}{
		{sup, []tracePath{
			append(observed("Superset", "superset-operator"), "status-aggregator: apply status"),
			append(observed("Superset", "superset-operator"), "status-aggregator: publish flotilla.lifecycle"),
		}},
		{engine, []tracePath{
			append(observed("FireboltEngine", "engine-operator"), "status-aggregator: apply status"),
			append(observed("FireboltEngine", "engine-operator"), "status-aggregator: publish flotilla.lifecycle"),
		}},
		{model, []tracePath{{"ingester: reconcile Model", "ingester: store", "ingester: publish flotilla.change"}}},
	} {
		for _, w := range c.paths {
			expect.Eventually(t, timeout, func() error { return checkPath(spans.Spans(), c.change, w) })
		}
	}
	expect.Eventually(t, timeout, func() error { return batched(spans.Spans(), model) })
	expect.Eventually(t, timeout, func() error { return s.checkPropagation(t, spans.Spans(), model) })
	if err := rootsAreCauses(spans.Spans()); err != nil {
		t.Error(err)
	}
	s.wait(t, supersets, "seen", isHealthy)
	s.wait(t, engines, "seen", isHealthy)
	// Later steps run with an unavailable collector, which must not affect the services.
	if err := spans.Close(); err != nil {
		t.Error(err)
	}
}

func (s *suite) change(t *testing.T, kind schema.GroupVersionKind, name, patch string) change {
	t.Helper()
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace("default")
	obj.SetName(name)
	at := time.Now()
	if err := s.Client.Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatalf("change %s %s: %v", kind.Kind, name, err)
	}
	return change{kind: kind, name: name, uid: string(obj.GetUID()), generation: fmt.Sprint(obj.GetGeneration()), at: at}
}

// root returns the span of the first reconcile of the change.
func root(spans []otlp.Span, c change) (otlp.Span, error) {
	i := slices.IndexFunc(spans, func(s otlp.Span) bool {
		return s.Name == "reconcile "+c.kind.Kind && s.Attributes["flotilla.uid"] == c.uid && s.Attributes["flotilla.generation"] == c.generation
	})
	if i < 0 {
		return otlp.Span{}, fmt.Errorf("no reconcile of %s %s, generation %s, among %d spans", c.kind.Kind, c.name, c.generation, len(spans))
	}
	first := spans[i]
	for key, want := range map[string]string{
		"flotilla.kind": c.kind.Kind, "flotilla.namespace": "default", "flotilla.name": c.name, "flotilla.outcome": "succeeded",
	} {
		if got := first.Attributes[key]; got != want {
			return first, fmt.Errorf("%s has %s=%q, want %q", first, key, got, want)
		}
	}
	if first.Parent != "" || first.Start.Before(c.at) {
		return first, fmt.Errorf("%s is not the root, or began before the change: %s, %s", first, first.Start, c.at)
	}
	return first, nil
}

// checkPath returns an error unless the trace of a change contains the way.
func checkPath(spans []otlp.Span, c change, w tracePath) error {
	first, err := root(spans, c)
	if err != nil {
		return err
	}
	var problems []error
	for _, leaf := range spans {
		if leaf.Trace != first.Trace || step(leaf) != w[len(w)-1] {
			continue
		}
		chain, err := otlp.Chain(spans, leaf)
		if err == nil {
			err = follows(chain, w)
		}
		if err == nil {
			return nil
		}
		problems = append(problems, err)
	}
	return fmt.Errorf("trace %s of %s %s does not reach %q: %w", first.Trace, c.kind.Kind, c.name, w[len(w)-1], errors.Join(problems...))
}

func step(s otlp.Span) string { return s.Service + ": " + s.Name }

// follows returns an error unless a chain equals a way. A change can require several
// reconciles, which are children of the first one.
func follows(chain []otlp.Span, w tracePath) error {
	var names tracePath
	for i, s := range chain {
		names = append(names, step(s))
		if i > 0 && s.Start.Before(chain[i-1].Start) {
			return fmt.Errorf("%s began before its parent %s", s, chain[i-1])
		}
	}
	if names = slices.Compact(names); !slices.Equal(names, w) {
		return fmt.Errorf("the chain is %q, want %q", names, w)
	}
	return nil
}

// batched returns an error unless the write of a change and the transaction that committed it link to each other.
func batched(spans []otlp.Span, c change) error {
	first, err := root(spans, c)
	if err != nil {
		return err
	}
	for _, store := range spans {
		if store.Trace != first.Trace || store.Name != "store" || store.Attributes["flotilla.outcome"] != "updated" {
			continue
		}
		for _, batch := range spans {
			if batch.Name == "commit batch" && batch.Trace != store.Trace &&
				slices.Contains(batch.Links, otlp.Link{Trace: store.Trace, ID: store.ID}) &&
				slices.Contains(store.Links, otlp.Link{Trace: batch.Trace, ID: batch.ID}) {
				return nil
			}
		}
	}
	return fmt.Errorf("no transaction and write of %s %s link to each other", c.kind.Kind, c.name)
}

// checkPropagation returns an error unless the change event names the span that published it.
func (s *suite) checkPropagation(t *testing.T, spans []otlp.Span, c change) error {
	t.Helper()
	first, err := root(spans, c)
	if err != nil {
		return err
	}
	subject, err := contract.ChangeSubject(contract.Ref{Cluster: "local", Namespace: "default", Kind: contract.Kind(strings.ToLower(c.kind.Kind)), Name: c.name}, contract.ChangeUpdated)
	if err != nil {
		return err
	}
	stream, err := s.JS.Stream(t.Context(), contract.StreamChanges)
	if err != nil {
		return err
	}
	m, err := stream.GetLastMsgForSubject(t.Context(), subject)
	if err != nil {
		return err
	}
	for _, publish := range spans {
		if publish.Trace == first.Trace && publish.Name == "publish flotilla.change" &&
			m.Header.Get(contract.HeaderTraceParent) == "00-"+publish.Trace+"-"+publish.ID+"-01" {
			return nil
		}
	}
	return fmt.Errorf("header %q of the event does not name a publish span of trace %s", m.Header.Get(contract.HeaderTraceParent), first.Trace)
}

// rootsAreCauses returns an error for each span that wrongly begins a trace: only a reconcile,
// a transaction and a client request may be roots.
func rootsAreCauses(spans []otlp.Span) error {
	var problems []error
	for _, s := range spans {
		cause := strings.HasPrefix(s.Name, "reconcile ") || strings.HasPrefix(s.Name, "aggregate ") || s.Name == "commit batch" || s.Kind == "server"
		if s.Parent == "" && !cause {
			problems = append(problems, fmt.Errorf("%s must not begin a trace", s))
		}
	}
	return errors.Join(problems...)
}

func TestFollowsDistinguishesWays(t *testing.T) {
	at := time.Now()
	span := func(name string, after time.Duration) otlp.Span {
		return otlp.Span{Service: "ingester", Name: name, Start: at.Add(after)}
	}
	w := tracePath{"ingester: reconcile Model", "ingester: store"}
	for name, c := range map[string]struct {
		chain []otlp.Span
		want  bool
	}{
		"the way":              {[]otlp.Span{span("reconcile Model", 0), span("store", 1)}, true},
		"by a later reconcile": {[]otlp.Span{span("reconcile Model", 0), span("reconcile Model", 1), span("store", 1)}, true},
		"too short":            {[]otlp.Span{span("store", 1)}, false},
		"something between":    {[]otlp.Span{span("reconcile Model", 0), span("load", 1), span("store", 1)}, false},
		"out of order":         {[]otlp.Span{span("reconcile Model", 1), span("store", 0)}, false},
	} {
		if err := follows(c.chain, w); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
