package argocd

import (
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// TestHealthOfAllStates computes the conditions of each state with Compute.
func TestHealthOfAllStates(t *testing.T) {
	script := read(t, conditionsScript)
	command := func(s *story, word string) { s.annotations = map[string]string{"operator-command": word} }
	stale := func(in *conditions.Input) { in.Freshness = conditions.ObserverStale }
	newSpec := func(s *story) { s.generation = 3 }
	tests := map[string]struct {
		tell func(*story)
		want string
	}{
		"healthy":                     {func(*story) {}, healthy},
		"no condition yet":            {func(s *story) { s.conditions = nil }, progressing},
		"one condition is missing":    {func(s *story) { s.conditions = s.conditions[1:] }, progressing},
		"never observed":              {func(s *story) { s.see(nil) }, progressing},
		"observer stale":              {func(s *story) { s.see(observed(), stale) }, unknown},
		"observer stale while paused": {func(s *story) { s.suspend = true; s.see(observed(pausedBy("spec.suspend")), stale) }, unknown},
		"terminating":                 {func(s *story) { s.deleting = true; s.see(observed()) }, progressing},
		"deleted, not observed yet":   {func(s *story) { s.deleting = true }, progressing},
		"a new spec, not observed":    {newSpec, progressing},
		"a new spec, observed":        {func(s *story) { newSpec(s); s.see(observed(generation(3, 2))) }, progressing},
		"a new spec is rolled out":    {func(s *story) { newSpec(s); s.see(observed(generation(3, 3), updated(1))) }, progressing},
		"a new spec is in effect":     {func(s *story) { newSpec(s); s.see(observed(generation(3, 3))) }, healthy},
		"a new spec, invalid":         {func(s *story) { newSpec(s); s.see(observed(generation(3, 2), refused)) }, degraded},
		"a rollout crashes": {func(s *story) {
			newSpec(s)
			s.see(observed(generation(3, 3), updated(1), failing(contract.FailureCrashLoop)))
		}, degraded},
		"a rollout finds no image": {func(s *story) {
			newSpec(s)
			s.see(observed(generation(3, 3), updated(1), failing(contract.FailureImagePull)))
		}, degraded},
		"a rollout exceeds its deadline": {func(s *story) {
			newSpec(s)
			s.see(observed(generation(3, 3), updated(1), unit(func(u *contract.Unit) { u.Stalled = true })))
		}, degraded},
		"a rollout finds no node": {func(s *story) {
			newSpec(s)
			s.see(observed(generation(3, 3), updated(1), failing(contract.FailureUnschedulable)))
		}, progressing},
		"a rollout finds no node for long": {func(s *story) {
			newSpec(s)
			s.lasting(125*time.Second, observed(generation(3, 3), updated(1), failing(contract.FailureUnschedulable)))
		}, degraded},
		"a repair of a crash": {func(s *story) {
			s.see(observed(available(1), failing(contract.FailureCrashLoop)))
			newSpec(s)
			s.see(observed(generation(3, 3), available(1), updated(1)))
		}, progressing},
		"a repair, observed": {func(s *story) {
			newSpec(s)
			s.see(observed(generation(3, 2), available(1), failing(contract.FailureCrashLoop)))
		}, progressing},
		"no node, and no pod serves": {func(s *story) {
			newSpec(s)
			s.see(observed(generation(3, 3), available(0), failing(contract.FailureUnschedulable)))
		}, progressing},
		"only the pause was observed": {func(s *story) { newSpec(s); s.conditions[4].ObservedGeneration = 3 }, progressing},
		"a task runs":                 {func(s *story) { s.see(observed(job(contract.JobRunning))) }, progressing},
		"a task has failed":           {func(s *story) { s.see(observed(job(contract.JobFailed))) }, degraded},
		"a pod is missing":            {func(s *story) { s.see(observed(available(1))) }, progressing},
		"a pod is missing for long":   {func(s *story) { s.lasting(125*time.Second, observed(available(1))) }, degraded},
		"pods crash":                  {func(s *story) { s.see(observed(available(1), failing(contract.FailureCrashLoop))) }, degraded},
		"crashed a moment ago":        {func(s *story) { s.see(observed(available(1), failing(contract.FailureCrashLoop))); s.see(observed()) }, progressing},
		"crashed a while ago": {func(s *story) {
			s.see(observed(available(1), failing(contract.FailureCrashLoop)))
			s.lasting(35*time.Second, observed())
		}, healthy},
		"flapping": {func(s *story) {
			for range 20 {
				s.lasting(15*time.Second, observed(available(1)))
				s.lasting(15*time.Second, observed())
			}
		}, degraded},
		"a node is lost":          {func(s *story) { s.see(observed(available(1), failing(contract.FailureNodeLost))) }, progressing},
		"a node is lost for long": {func(s *story) { s.lasting(125*time.Second, observed(available(1), failing(contract.FailureNodeLost))) }, degraded},
		"surplus pods terminate": {func(s *story) {
			s.see(observed(unit(func(u *contract.Unit) { u.Current, u.Updated, u.Ready, u.Available = 3, 3, 3, 3 })))
		}, progressing},
		"scaled to zero":              {func(s *story) { s.see(observed(none)) }, healthy},
		"nothing is declared":         {func(s *story) { s.see(observed(func(o *contract.Observation) { o.Units = nil })) }, healthy},
		"a new spec, no units":        {func(s *story) { newSpec(s); s.see(observed(func(o *contract.Observation) { o.Units = nil })) }, progressing},
		"behind the maintenance page": {func(s *story) { s.see(observed(unit(func(u *contract.Unit) { u.Routed = false }))) }, degraded},
		"maintenance page during a task": {func(s *story) {
			s.see(observed(job(contract.JobRunning), unit(func(u *contract.Unit) { u.Routed = false })))
		}, progressing},
		"paused by the spec": {func(s *story) {
			newSpec(s)
			s.suspend = true
			s.see(observed(generation(3, 2), pausedBy("spec.suspend")))
		}, suspended},
		"paused by the annotation": {func(s *story) { command(s, "Paused"); s.see(observed(pausedBy("annotation"))) }, suspended},
		"paused, and pods crash": {func(s *story) {
			command(s, "Paused")
			s.see(observed(pausedBy("annotation"), available(1), failing(contract.FailureCrashLoop)))
		}, suspended},
		"a pause, not observed":         {func(s *story) { command(s, "Paused") }, progressing},
		"a pause by spec, not observed": {func(s *story) { newSpec(s); s.suspend = true }, progressing},
		"resumed, not observed":         {func(s *story) { s.see(observed(pausedBy("annotation"))) }, progressing},
		"stopped":                       {func(s *story) { command(s, "Stopped"); s.see(observed(stopped, none)) }, suspended},
		"stopping":                      {func(s *story) { command(s, "Stopped"); s.see(observed(stopped)) }, progressing},
		"a stop, not observed":          {func(s *story) { command(s, "Stopped") }, progressing},
		"started, not observed":         {func(s *story) { s.see(observed(stopped, none)) }, progressing},
		"an unknown command":            {func(s *story) { command(s, "Dance") }, healthy},
		"waiting for an approval":       {func(s *story) { newSpec(s); s.phase = "AwaitingApproval"; s.see(observed(generation(3, 2))) }, suspended},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin()
			tc.tell(s)
			if got := s.health(t, script); got.status != tc.want {
				t.Errorf("%s (%s), want %s; conditions:\n%s", got.status, got.message, tc.want, s)
			}
		})
	}
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
		s := begin()
		c.tell(s)
		got := s.health(t, script)
		seen[got.status]++
		if why := c.contradiction(s, got); why != "" {
			t.Fatalf("%s (%s): %s; %s; conditions:\n%s", got.status, got.message, why, c, s)
		}
	}
	for _, status := range []string{healthy, progressing, degraded, suspended, unknown} {
		if seen[status] == 0 {
			t.Errorf("no combination is %s: %v", status, seen)
		}
	}
}
