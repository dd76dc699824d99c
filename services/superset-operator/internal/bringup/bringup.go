// Package bringup computes the order in which the components start after a new installation or a drain: the web
// server first. Importing Superset takes ten seconds of a full core per process, so workers, scheduler and Flower
// would delay the web server, which users wait for.
package bringup

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// Order holds the components that wait for the web server, and the deadline of the wait.
type Order struct {
	delayed map[string]bool
	// Until is the deadline of the wait; zero if no component waits.
	Until time.Time
}

// IsDelayed reports whether the component must not be created yet.
func (o Order) IsDelayed(slug string) bool { return o.delayed[slug] }

// For returns the start order. Components that do not exist yet wait while a new web server starts, at most as long
// as its startup probe allows. Existing components never wait.
func For(components []desired.Component, s *snapshot.Snapshot, now time.Time) Order {
	var out Order
	until := deadline(components, s, now)
	if !now.Before(until) {
		return out
	}
	for i := range components {
		c := &components[i]
		if c.Descriptor.Python && c.Slug != component.WebServerName && s.Deployments[c.Slug] == nil {
			if out.delayed == nil {
				out.delayed = map[string]bool{}
			}
			out.delayed[c.Slug], out.Until = true, until
		}
	}
	return out
}

// deadline returns the deadline for the web server to start; zero if no component has to wait for it.
func deadline(components []desired.Component, s *snapshot.Snapshot, now time.Time) time.Time {
	for i := range components {
		c := &components[i]
		if c.Slug != component.WebServerName || c.Replicas == 0 {
			continue
		}
		start := now
		if live := s.Deployments[c.Slug]; live != nil && live.DeletionTimestamp.IsZero() {
			if snapshot.IsReady(live) {
				return time.Time{}
			}
			start = live.CreationTimestamp.Time
		}
		return start.Add(startTimeout(c.Deployment))
	}
	return time.Time{}
}

// startTimeout returns how long the startup probe allows the main container to start.
func startTimeout(d *appsv1.Deployment) time.Duration {
	for _, c := range d.Spec.Template.Spec.Containers {
		if p := c.StartupProbe; c.Name == names.MainContainer && p != nil {
			return time.Duration(p.InitialDelaySeconds+max(p.PeriodSeconds, 1)*max(p.FailureThreshold, 1)) * time.Second
		}
	}
	return 0
}
