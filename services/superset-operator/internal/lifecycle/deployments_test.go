package lifecycle_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
)

// deployment is the Deployment of one component, and its pods, which may outlive it.
type deployment struct {
	exists     bool
	size, pods int
	image      string
}

func (m *model) deployments() []*deployment { return []*deployment{&m.web, &m.worker} }

func (m *model) exist() bool { return m.web.exists || m.worker.exists }

func (m *model) size() int { return m.web.size + m.worker.size }

func (m *model) pods() int { return m.web.pods + m.worker.pods }

// writeDeployment writes one Deployment as the controller does. A Deployment without replicas is not drained.
func (m *model) writeDeployment(in lifecycle.Input, d lifecycle.Decision, c *deployment) {
	switch {
	case d.Drain:
		if c.size > 0 {
			*c = deployment{pods: c.pods}
		}
	case d.Mode == lifecycle.Apply:
		m.applyDeployment(in, c)
	case d.Mode == lifecycle.Hold:
		if c.exists && !d.Initial {
			m.holdDeployment(in, d, c)
		}
	case m.spec.stopped:
		c.size = 0
	case d.ScaleUp && c.exists && c.size == 0 && !d.IsFormer(c.image, in.Image):
		c.size = m.desired()
	}
	m.webReady = m.webReady && m.web.size > 0
}

func (m *model) rejects(c *deployment) bool { return m.rejected && c == &m.worker }

func (m *model) applyDeployment(in lifecycle.Input, c *deployment) {
	switch {
	case !m.spec.components:
		*c = deployment{pods: c.pods}
	case !m.rejects(c):
		c.exists, c.size, c.image = true, m.desired(), in.Image
	}
}

// holdDeployment keeps the image of an existing Deployment while another one waits, and its size if it is a former one.
func (m *model) holdDeployment(in lifecycle.Input, d lifecycle.Decision, c *deployment) {
	switch {
	case m.rejects(c):
	case !d.Upgrading:
		c.size, c.image = m.desired(), in.Image
	case c.size > 0 || !d.IsFormer(c.image, in.Image):
		c.size = m.desired()
	}
}

// checkImages checks that no component runs an image that is older than that of the metastore.
func (m *model) checkImages(t rapid.TB, d lifecycle.Decision) {
	for _, c := range m.deployments() {
		if c.size > 0 && (older(m.metastore, c.image) || older(m.migrated, c.image)) {
			t.Fatalf("invariant no-older-pods: %s runs on the metastore of %s, mode %s, %+v",
				c.image, max(m.metastore, m.migrated), d.Mode, d.Condition)
		}
	}
}

// upgradeWithoutPods upgrades a Superset that is scaled to zero, with a worker whose applies are rejected.
func (m *model) upgradeWithoutPods(t rapid.TB) {
	m.spec.zero = true
	m.proceed(t, 3)
	m.rejected, m.spec.image = true, "superset:2.0.0"
	m.proceed(t, 8)
	m.spec.zero = false
}

// proceed lets all tasks succeed.
func (m *model) proceed(t rapid.TB, rounds int) {
	for range rounds {
		m.succeed()
		m.reconcile(t, 99)
		m.collect()
	}
}

// TestRejectedComponentDoesNotStartOnFormerImage runs init again, or changes the image again, after an upgrade that one
// component did not get, since the API server rejected it. Neither failure may start that component on its former image.
func TestRejectedComponentDoesNotStartOnFormerImage(t *testing.T) {
	for name, change := range map[string]func(m *model){
		"init fails":                  func(m *model) { m.spec.trigger["init"]++ },
		"the preflight fails":         func(m *model) { m.spec.settings++ },
		"a newer image is rejected":   func(m *model) { m.spec.image = "superset:3.0.0" },
		"a downgrade waits":           func(m *model) { m.spec.image = "superset:1.0.0" },
		"a newer image, after a stop": func(m *model) { m.spec.image, m.spec.stopped = "superset:3.0.0", true },
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel()
			m.runAllTasks(t)
			m.upgradeWithoutPods(t)
			if m.lastImage != m.spec.image || m.worker.image != "superset:1.0.0" {
				t.Fatalf("the upgrade is not recorded: %s, worker %+v, %+v", m.lastImage, m.worker, m.lastDecision.Condition)
			}
			change(m)
			m.reconcile(t, 99)
			m.rejected, m.spec.stopped = false, false
			m.failPermanently(t)
			m.approval[1] = m.token()
			m.failPermanently(t)
			if m.lastDecision.Condition.Reason != v1alpha1.ReasonTaskFailed {
				t.Fatalf("no task failed: %+v", m.lastDecision.Condition)
			}
			m.checkConvergence(t)
		})
	}
}

func TestIsFormer(t *testing.T) {
	for name, tc := range map[string]struct {
		from, to, migrated, current, desired string
		want                                 bool
	}{
		"the image of the metastore":               {from: "s:2.0.0", to: "s:3.0.0", current: "s:2.0.0", desired: "s:3.0.0"},
		"an image before it":                       {from: "s:2.0.0", to: "s:3.0.0", current: "s:1.0.0", desired: "s:3.0.0", want: true},
		"an image before an unfinished migration":  {from: "s:1.0.0", to: "s:3.0.0", migrated: "s:2.0.0", current: "s:1.0.0", desired: "s:3.0.0", want: true},
		"a mirror of the image of the metastore":   {from: "s:2.0.0", to: "s:3.0.0", current: "mirror/s:2.0.0", desired: "s:3.0.0"},
		"an older image of this component":         {from: "s:2.0.0", to: "s:3.0.0", current: "s:1.0.0", desired: "s:1.0.0"},
		"the image of a downgrade that waits":      {from: "s:2.0.0", to: "s:1.0.0", current: "s:1.0.0", desired: "s:1.0.0", want: true},
		"a newer image, after a downgrade":         {from: "s:1.0.0", to: "s:1.0.0", current: "s:2.0.0", desired: "s:1.0.0"},
		"an image that cannot be ordered":          {from: "s:2.0.0", to: "s:3.0.0", current: "s:latest", desired: "s:3.0.0"},
		"an image before the tasks ever completed": {to: "s:2.0.0", current: "s:1.0.0", desired: "s:2.0.0"},
	} {
		d := lifecycle.Decision{From: tc.from, Image: tc.to, Status: &v1alpha1.LifecycleStatus{MigratedImage: tc.migrated}}
		if got := d.IsFormer(tc.current, tc.desired); got != tc.want {
			t.Errorf("%s: got %t, want %t", name, got, tc.want)
		}
	}
}
