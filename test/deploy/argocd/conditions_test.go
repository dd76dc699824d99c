package argocd

import (
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

func command(s *history, word string) { s.annotations = map[string]string{"operator-command": word} }

func stale(in *conditions.Input) { in.Freshness = conditions.ObserverStale }

func newSpec(s *history) { s.generation = 3 }

type healthCase struct {
	apply func(*history)
	want  string
}

// checkHealth computes the conditions of each state with Compute.
func checkHealth(t *testing.T, cases map[string]healthCase) {
	t.Helper()
	script := read(t, conditionsScript)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newHistory()
			tc.apply(s)
			if got := s.health(t, script); got.status != tc.want {
				t.Errorf("%s (%s), want %s; conditions:\n%s", got.status, got.message, tc.want, s)
			}
		})
	}
}

func TestHealthFollowsObservation(t *testing.T) {
	checkHealth(t, map[string]healthCase{
		"healthy":                     {func(*history) {}, healthy},
		"no condition yet":            {func(s *history) { s.conditions = nil }, progressing},
		"one condition is missing":    {func(s *history) { s.conditions = s.conditions[1:] }, progressing},
		"never observed":              {func(s *history) { s.see(nil) }, progressing},
		"observer stale":              {func(s *history) { s.see(observed(), stale) }, unknown},
		"observer stale while paused": {func(s *history) { s.suspend = true; s.see(observed(pausedBy("spec.suspend")), stale) }, unknown},
		"terminating":                 {func(s *history) { s.deleting = true; s.see(observed()) }, progressing},
		"deleted, not observed yet":   {func(s *history) { s.deleting = true }, progressing},
	})
}

func TestHealthOfNewSpec(t *testing.T) {
	checkHealth(t, map[string]healthCase{
		"a new spec, not observed": {newSpec, progressing},
		"a new spec, observed":     {func(s *history) { newSpec(s); s.see(observed(generation(3, 2))) }, progressing},
		"a new spec is rolled out": {func(s *history) { newSpec(s); s.see(observed(generation(3, 3), updated(1))) }, progressing},
		"a new spec is in effect":  {func(s *history) { newSpec(s); s.see(observed(generation(3, 3))) }, healthy},
		"a new spec, invalid":      {func(s *history) { newSpec(s); s.see(observed(generation(3, 2), refused)) }, degraded},
		"a rollout crashes": {func(s *history) {
			newSpec(s)
			s.see(observed(generation(3, 3), updated(1), failing(contract.FailureCrashLoop)))
		}, degraded},
		"a rollout finds no image": {func(s *history) {
			newSpec(s)
			s.see(observed(generation(3, 3), updated(1), failing(contract.FailureImagePull)))
		}, degraded},
		"a rollout exceeds its deadline": {func(s *history) {
			newSpec(s)
			s.see(observed(generation(3, 3), updated(1), unit(func(u *contract.Unit) { u.Stalled = true })))
		}, degraded},
		"a rollout finds no node": {func(s *history) {
			newSpec(s)
			s.see(observed(generation(3, 3), updated(1), failing(contract.FailureUnschedulable)))
		}, progressing},
		"a rollout finds no node for long": {func(s *history) {
			newSpec(s)
			s.observeFor(125*time.Second, observed(generation(3, 3), updated(1), failing(contract.FailureUnschedulable)))
		}, degraded},
		"a repair of a crash": {func(s *history) {
			s.see(observed(available(1), failing(contract.FailureCrashLoop)))
			newSpec(s)
			s.see(observed(generation(3, 3), available(1), updated(1)))
		}, progressing},
		"a repair, observed": {func(s *history) {
			newSpec(s)
			s.see(observed(generation(3, 2), available(1), failing(contract.FailureCrashLoop)))
		}, progressing},
		"no node, and no pod serves": {func(s *history) {
			newSpec(s)
			s.see(observed(generation(3, 3), available(0), failing(contract.FailureUnschedulable)))
		}, progressing},
		"only the pause was observed": {func(s *history) { newSpec(s); s.conditions[4].ObservedGeneration = 3 }, progressing},
		"a new spec, no units":        {func(s *history) { newSpec(s); s.see(observed(func(o *contract.Observation) { o.Units = nil })) }, progressing},
	})
}

func TestHealthOfWorkloads(t *testing.T) {
	checkHealth(t, map[string]healthCase{
		"a task runs":               {func(s *history) { s.see(observed(job(contract.JobRunning))) }, progressing},
		"a task has failed":         {func(s *history) { s.see(observed(job(contract.JobFailed))) }, degraded},
		"a pod is missing":          {func(s *history) { s.see(observed(available(1))) }, progressing},
		"a pod is missing for long": {func(s *history) { s.observeFor(125*time.Second, observed(available(1))) }, degraded},
		"pods crash":                {func(s *history) { s.see(observed(available(1), failing(contract.FailureCrashLoop))) }, degraded},
		"crashed a moment ago":      {func(s *history) { s.see(observed(available(1), failing(contract.FailureCrashLoop))); s.see(observed()) }, progressing},
		"crashed a while ago": {func(s *history) {
			s.see(observed(available(1), failing(contract.FailureCrashLoop)))
			s.observeFor(35*time.Second, observed())
		}, healthy},
		"flapping": {func(s *history) {
			for range 20 {
				s.observeFor(15*time.Second, observed(available(1)))
				s.observeFor(15*time.Second, observed())
			}
		}, degraded},
		"a node is lost": {func(s *history) { s.see(observed(available(1), failing(contract.FailureNodeLost))) }, progressing},
		"a node is lost for long": {func(s *history) {
			s.observeFor(125*time.Second, observed(available(1), failing(contract.FailureNodeLost)))
		}, degraded},
		"surplus pods terminate": {func(s *history) {
			s.see(observed(unit(func(u *contract.Unit) { u.Current, u.Updated, u.Ready, u.Available = 3, 3, 3, 3 })))
		}, progressing},
		"scaled to zero":              {func(s *history) { s.see(observed(none)) }, healthy},
		"nothing is declared":         {func(s *history) { s.see(observed(func(o *contract.Observation) { o.Units = nil })) }, healthy},
		"behind the maintenance page": {func(s *history) { s.see(observed(unit(func(u *contract.Unit) { u.Routed = false }))) }, degraded},
		"maintenance page during a task": {func(s *history) {
			s.see(observed(job(contract.JobRunning), unit(func(u *contract.Unit) { u.Routed = false })))
		}, progressing},
	})
}

func TestHealthOfPauseAndStop(t *testing.T) {
	checkHealth(t, map[string]healthCase{
		"paused by the spec": {func(s *history) {
			newSpec(s)
			s.suspend = true
			s.see(observed(generation(3, 2), pausedBy("spec.suspend")))
		}, suspended},
		"paused by the annotation": {func(s *history) { command(s, "Paused"); s.see(observed(pausedBy("annotation"))) }, suspended},
		"paused, and pods crash": {func(s *history) {
			command(s, "Paused")
			s.see(observed(pausedBy("annotation"), available(1), failing(contract.FailureCrashLoop)))
		}, suspended},
		"a pause, not observed":         {func(s *history) { command(s, "Paused") }, progressing},
		"a pause by spec, not observed": {func(s *history) { newSpec(s); s.suspend = true }, progressing},
		"resumed, not observed":         {func(s *history) { s.see(observed(pausedBy("annotation"))) }, progressing},
		"stopped":                       {func(s *history) { command(s, "Stopped"); s.see(observed(stopped, none)) }, suspended},
		"stopping":                      {func(s *history) { command(s, "Stopped"); s.see(observed(stopped)) }, progressing},
		"a stop, not observed":          {func(s *history) { command(s, "Stopped") }, progressing},
		"started, not observed":         {func(s *history) { s.see(observed(stopped, none)) }, progressing},
		"an unknown command":            {func(s *history) { command(s, "Dance") }, healthy},
		"waiting for an approval":       {func(s *history) { newSpec(s); s.phase = "AwaitingApproval"; s.see(observed(generation(3, 2))) }, suspended},
	})
}

func TestHealthWithoutStatusIsProgressing(t *testing.T) {
	for _, script := range []string{conditionsScript, classScript} {
		object := map[string]any{"kind": "Superset", "metadata": map[string]any{"name": "main", "generation": 1}}
		if got := run(t, read(t, script), object); got.status != progressing {
			t.Errorf("%s: %s (%s)", script, got.status, got.message)
		}
	}
}

// TestHealthNeverExceedsConditions tries all combinations that Compute distinguishes.
func TestHealthNeverExceedsConditions(t *testing.T) {
	script := read(t, conditionsScript)
	seen := map[string]int{}
	for _, c := range combinations() {
		s := newHistory()
		c.apply(s)
		got := s.health(t, script)
		seen[got.status]++
		if reason := c.contradiction(s, got); reason != "" {
			t.Fatalf("%s (%s): %s; %s; conditions:\n%s", got.status, got.message, reason, c, s)
		}
	}
	for _, status := range []string{healthy, progressing, degraded, suspended, unknown} {
		if seen[status] == 0 {
			t.Errorf("no combination is %s: %v", status, seen)
		}
	}
}
