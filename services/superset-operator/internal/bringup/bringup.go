// Package bringup computes the order in which the components start after a new installation or a drain: the web server
// first. Importing Superset takes each process ten seconds of a whole core, and workers, scheduler and Flower would take
// them from the process that users wait for.
package bringup

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/naming"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// Order holds which components wait for the web server, and until when.
type Order struct {
	waiting map[string]bool
	// Until is when they stop waiting; zero if no component waits.
	Until time.Time
}

// Waits reports whether the component must not be created yet.
func (o Order) Waits(word string) bool { return o.waiting[word] }

// For returns the order. Only components that do not exist wait, while the web server starts for the first time since its
// creation, and no longer than its startup probe allows.
func For(components []desired.Component, s *snapshot.Snapshot, now time.Time) Order {
	var out Order
	until := patience(components, s, now)
	if !now.Before(until) {
		return out
	}
	for i := range components {
		c := &components[i]
		if c.Descriptor.Python && c.Word != component.WebServerName && s.Deployments[c.Word] == nil {
			if out.waiting == nil {
				out.waiting = map[string]bool{}
			}
			out.waiting[c.Word], out.Until = true, until
		}
	}
	return out
}

// patience returns the deadline for the web server to start; zero if no component has to wait for it.
func patience(components []desired.Component, s *snapshot.Snapshot, now time.Time) time.Time {
	for i := range components {
		c := &components[i]
		if c.Word != component.WebServerName || c.Replicas == 0 {
			continue
		}
		began := now
		if live := s.Deployments[c.Word]; live != nil && live.DeletionTimestamp.IsZero() {
			if snapshot.Serves(live) {
				return time.Time{}
			}
			began = live.CreationTimestamp.Time
		}
		return began.Add(budget(c.Deployment))
	}
	return time.Time{}
}

// budget returns how long the startup probe allows the main container to start.
func budget(d *appsv1.Deployment) time.Duration {
	for _, c := range d.Spec.Template.Spec.Containers {
		if p := c.StartupProbe; c.Name == naming.MainContainer && p != nil {
			return time.Duration(p.InitialDelaySeconds+max(p.PeriodSeconds, 1)*max(p.FailureThreshold, 1)) * time.Second
		}
	}
	return 0
}
