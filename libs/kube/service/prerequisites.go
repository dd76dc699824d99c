package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// Prerequisite is a resource that a service watches: the service starts once the API server
// serves the resource and permits list and watch.
type Prerequisite struct {
	schema.GroupVersionResource
	// Optional permits the CRD to appear after the service has started.
	Optional bool
	// ClusterWide is true for objects without a namespace, whichever namespaces are watched.
	ClusterWide bool
}

// Prerequisites returns the prerequisites for resources of one group and version.
func Prerequisites(gv schema.GroupVersion, resources ...string) []Prerequisite {
	out := make([]Prerequisite, 0, len(resources))
	for _, r := range resources {
		out = append(out, Prerequisite{GroupVersionResource: gv.WithResource(r)})
	}
	return out
}

// prerequisites waits for CRDs and permissions. A manager would at best wait without a log
// line: its caches retry repeatedly, it does not exit on a signal before they are filled, or
// it exits with an error after two minutes.
type prerequisites struct {
	required    []Prerequisite
	permissions []authorizationv1.ResourceAttributes
	served      discovery.ServerResourcesInterfaceWithContext
	reviews     authorizationclient.SelfSubjectAccessReviewInterface
	clock       clock.Clock
	chartName   string

	mu  sync.Mutex
	err error // for readiness: what is missing
}

var errNotChecked = errors.New("CRDs and permissions are not checked yet")

func newPrerequisites(spec Spec, o Options, cfg *rest.Config, c clock.Clock) (*prerequisites, error) {
	p := &prerequisites{clock: c, chartName: spec.Name, err: errNotChecked}
	if spec.Prerequisites != nil {
		p.required = spec.Prerequisites()
	}
	p.permissions = permissions(spec.Name, o, p.required)
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = pingTimeout
	served, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, settingError("kubeconfig", "cannot be used: %w", err)
	}
	reviews, err := authorizationclient.NewForConfig(cfg)
	if err != nil {
		return nil, settingError("kubeconfig", "cannot be used: %w", err)
	}
	p.served, p.reviews = served, reviews.SelfSubjectAccessReviews()
	return p, nil
}

// permissions returns the permissions that the service cannot start without: those for leader
// election, and those to list and watch its prerequisites. A selector requires them in all
// namespaces, since any may match later.
func permissions(name string, o Options, required []Prerequisite) []authorizationv1.ResourceAttributes {
	var out []authorizationv1.ResourceAttributes
	if o.LeaderElect {
		lease := authorizationv1.ResourceAttributes{
			Group: "coordination.k8s.io", Resource: "leases", Namespace: o.LeaderElectionNamespace, Verb: "create",
		}
		out = append(out, lease)
		lease.Name = name + ".flotilla.dev"
		for _, lease.Verb = range []string{"get", "update"} {
			out = append(out, lease)
		}
	}
	if o.WatchNamespaceSelector != "" {
		for _, verb := range []string{"list", "watch"} {
			out = append(out, authorizationv1.ResourceAttributes{Resource: "namespaces", Verb: verb})
		}
	}
	for _, r := range required {
		namespaces := o.WatchNamespaces
		if len(namespaces) == 0 || r.ClusterWide {
			namespaces = []string{metav1.NamespaceAll}
		}
		for _, ns := range namespaces {
			for _, verb := range []string{"list", "watch"} {
				out = append(out, authorizationv1.ResourceAttributes{Group: r.Group, Resource: r.Resource, Namespace: ns, Verb: verb})
			}
		}
	}
	return out
}

// missing lists the prerequisites that are not met.
type missing struct {
	crds, permissions []string
	unreachable       error // the API server could not be reached
}

func (m missing) err() error {
	switch {
	case m.unreachable != nil:
		return m.unreachable
	case len(m.crds) > 0:
		return fmt.Errorf("CRDs are missing: %s", strings.Join(m.crds, "; "))
	case len(m.permissions) > 0:
		return fmt.Errorf("permissions are missing: %s", strings.Join(m.permissions, "; "))
	}
	return nil
}

// wait returns true once nothing is missing, false when ctx ends first. It logs one line
// when what is missing has changed, and one when the wait ends.
func (p *prerequisites) wait(ctx context.Context, log logr.Logger) bool {
	delay, logged := minBackoff, ""
	for {
		m := p.check(ctx)
		err := m.err()
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil:
			if logged != "" {
				log.Info("All CRDs and permissions are available")
			}
			return true
		case err.Error() != logged:
			logged = err.Error()
			p.logMissing(log, m)
		}
		select {
		case <-ctx.Done():
			return false
		case <-p.clock.After(delay):
		}
		delay = min(2*delay, maxBackoff)
	}
}

func (p *prerequisites) logMissing(log logr.Logger, m missing) {
	switch {
	case m.unreachable != nil:
		log.Info("Waiting for the API server to check CRDs and permissions", "reason", m.unreachable.Error())
	case len(m.crds) > 0:
		log.Info("Waiting for CRDs", "missing", strings.Join(m.crds, "; "),
			"advice", "install the chart "+p.chartName+"-crds")
	default:
		log.Info("Waiting for permissions", "missing", strings.Join(m.permissions, "; "),
			"advice", "grant them to this service account; the chart "+p.chartName+" does with rbac.create=true")
	}
}

// readyz implements the readiness check.
func (p *prerequisites) readyz(*http.Request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// check checks all prerequisites once. It checks permissions only if all CRDs are installed.
func (p *prerequisites) check(ctx context.Context) (m missing) {
	if m.crds, m.unreachable = p.missingCRDs(ctx); m.unreachable != nil || len(m.crds) > 0 {
		return m
	}
	m.permissions, m.unreachable = p.missingPermissions(ctx)
	return m
}

func (p *prerequisites) missingCRDs(ctx context.Context) (missing []string, err error) {
	lists := map[schema.GroupVersion]*metav1.APIResourceList{}
	for _, r := range p.required {
		if r.Optional {
			continue
		}
		gv := r.GroupVersion()
		if lists[gv] == nil {
			lists[gv], err = p.served.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
			switch {
			case apierrors.IsNotFound(err):
				lists[gv] = &metav1.APIResourceList{}
			case err != nil:
				return nil, fmt.Errorf("list resources of %s: %w", gv, err)
			}
		}
		isRequired := func(served metav1.APIResource) bool { return served.Name == r.Resource }
		if !slices.ContainsFunc(lists[gv].APIResources, isRequired) {
			missing = append(missing, r.GroupResource().String()+" in version "+r.Version)
		}
	}
	return missing, nil
}

func (p *prerequisites) missingPermissions(ctx context.Context) (missing []string, err error) {
	var denied []authorizationv1.ResourceAttributes
	for _, permission := range p.permissions {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &permission}}
		review, err := p.reviews.Create(ctx, review, metav1.CreateOptions{})
		switch {
		case apierrors.IsForbidden(err):
			return nil, nil // the cluster does not serve such reviews: the requests themselves will fail
		case err != nil:
			return nil, fmt.Errorf("create SelfSubjectAccessReview: %w", err)
		case !review.Status.Allowed:
			denied = append(denied, permission)
		}
	}
	return describe(denied), nil
}

// describe returns texts such as "list, watch supersets.superset.apache.org in namespace
// team", one for all verbs of a resource.
func describe(attributes []authorizationv1.ResourceAttributes) (out []string) {
	var order []authorizationv1.ResourceAttributes
	verbs := map[authorizationv1.ResourceAttributes][]string{}
	for _, permission := range attributes {
		of := permission
		of.Verb = ""
		if verbs[of] == nil {
			order = append(order, of)
		}
		verbs[of] = append(verbs[of], permission.Verb)
	}
	for _, of := range order {
		terms := []string{strings.Join(verbs[of], ", "), schema.GroupResource{Group: of.Group, Resource: of.Resource}.String()}
		if of.Name != "" {
			terms = append(terms, of.Name)
		}
		if of.Namespace == metav1.NamespaceAll {
			terms = append(terms, "in all namespaces")
		} else {
			terms = append(terms, "in namespace "+of.Namespace)
		}
		out = append(out, strings.Join(terms, " "))
	}
	return out
}
