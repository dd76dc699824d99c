//go:build long

package stack_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

var previous = flag.String("previous", "HEAD~1", "commit of the services from which the upgrade starts")

// TestUpgradeAndRollback replaces one service after another with that of an earlier commit, and back, while a Superset, an
// engine and a project are edited as fast as they settle. All edits must settle, no resource may become unavailable, each
// event must be published once, and MySQL must match the cluster.
func TestUpgradeAndRollback(t *testing.T) {
	s := start(t)
	s.since = s.transitionTimes(t)
	versions := map[string]string{}
	for _, service := range services {
		versions[service] = s.buildPrevious(t, service)
	}
	load := s.load(t)
	for _, service := range services {
		now := filepath.Join(s.Local, "bin", service)
		kept := filepath.Join(t.TempDir(), service)
		if err := os.Rename(now, kept); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct{ verb, binary string }{{"rolled back", versions[service]}, {"upgraded", kept}} {
			if err := os.Rename(step.binary, now); err != nil {
				t.Fatal(err)
			}
			began, rounds := time.Now(), load.rounds.Load()
			s.stack(t, "restart", service)
			expect.Eventually(t, timeout, func() error {
				if done := load.rounds.Load() - rounds; done < 4 {
					return fmt.Errorf("%s %s: %d edits have settled since; last error: %v", service, step.verb, done, load.lastFailure.Load())
				}
				return nil
			})
			fmt.Printf("UPGRADE %s %s: 4 edits settled within %.1f s\n", service, step.verb, time.Since(began).Seconds())
		}
	}
	load.stop()
	fmt.Printf("UPGRADE %d edits in all\n", load.rounds.Load())
	s.samplesAreHealthy(t)
	s.rowsMatchObjects(t)
	s.history(t, func(h historyReader) error {
		for _, kind := range []schema.GroupVersionKind{supersets, engines} {
			if wrong := h.Wrong(kind.Kind, "busy"); len(wrong) > 0 {
				return fmt.Errorf("unexpected failures of %s busy in the history: %v", kind.Kind, wrong)
			}
			for _, e := range h.Of(kind.Kind, "busy") {
				if e.Gap || e.Event == contract.EventGap {
					return fmt.Errorf("%s busy: history has a gap: %s", kind.Kind, e.Message)
				}
			}
		}
		return h.Check()
	})
	s.historyIsClean(t)
}

// buildPrevious builds a service of the commit -previous.
func (s *suite) buildPrevious(t *testing.T, service string) string {
	t.Helper()
	tree := filepath.Join(s.Local, "previous")
	out := filepath.Join(t.TempDir(), service)
	script := `[ -e "$0" ] || { mkdir "$0" && git archive "$1" | tar -x -C "$0"; }
cd "$0/services/$2" && GOWORK=off go build -o "$3" ./cmd/"$2"`
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script, tree, *previous, service, out)
	cmd.Dir = s.Root
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s of %s: %v\n%s", service, *previous, err, text)
	}
	return out
}

// load edits three objects in turn, each time after the previous edit has settled.
type load struct {
	rounds      atomic.Int64 // number of settled edits
	lastFailure atomic.Value // the last error, a string
	stop        func()
}

func (s *suite) load(t *testing.T) *load {
	t.Helper()
	l := &load{}
	instance := s.list(t, instances)[0].GetName()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			for _, edit := range s.edits(i, instance) {
				if err := s.waitSettled(ctx, edit); err != nil {
					l.lastFailure.Store(err.Error())
					continue
				}
				l.rounds.Add(1)
			}
		}
	}()
	l.stop = func() { cancel(); <-ended }
	t.Cleanup(l.stop)
	return l
}

// edit is a spec of an object, and a check that it has settled.
type edit struct {
	kind    schema.GroupVersionKind
	spec    map[string]any
	settled func(context.Context, *unstructured.Unstructured) error
}

func (s *suite) edits(i int, instance string) []edit {
	web := superset("4.1.1")
	web["forceReload"] = fmt.Sprint(i)
	engine := map[string]any{"instanceRef": instance, "replicas": int64(2 + i%2), "drainCheckEnabled": false}
	project := map[string]any{"description": fmt.Sprint("edit ", i), "tier": int64(1 + i%3)}
	well := func(_ context.Context, obj *unstructured.Unstructured) error { return isHealthy(obj) }
	stored := func(ctx context.Context, _ *unstructured.Unstructured) error { return s.compareRows(ctx, projects) }
	return []edit{{supersets, web, well}, {engines, engine, well}, {projects, project, stored}}
}

// waitSettled applies an edit and waits until it has settled.
func (s *suite) waitSettled(ctx context.Context, e edit) error {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": e.spec}}
	obj.SetGroupVersionKind(e.kind)
	obj.SetName("busy")
	obj.SetNamespace("default")
	if err := s.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("whole-stack-test"), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply %s: %w", e.kind.Kind, err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if err == nil {
			err = e.settled(ctx, obj)
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s busy did not settle", e.kind.Kind), err)
		case <-tick.C:
		}
	}
}
