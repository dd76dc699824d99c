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
	// Late permits the CRD to appear after the service has started.
	Late bool
	// ClusterWide is true for objects without a namespace, whichever namespaces are watched.
	ClusterWide bool
}

// Prerequisites are resources of one group and version.
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
	wanted    []Prerequisite
	rights    []authorizationv1.ResourceAttributes
	served    discovery.ServerResourcesInterfaceWithContext
	reviews   authorizationclient.SelfSubjectAccessReviewInterface
	clock     clock.Clock
	chartName string

	mu  sync.Mutex
	err error // for readiness: what is missing
}

var errNotLooked = errors.New("definitions and rights have not been looked at yet")

func newPrerequisites(spec Spec, o Options, cfg *rest.Config, c clock.Clock) (*prerequisites, error) {
	n := &prerequisites{clock: c, chartName: spec.Name, err: errNotLooked}
	if spec.Prerequisites != nil {
		n.wanted = spec.Prerequisites()
	}
	n.rights = rights(spec.Name, o, n.wanted)
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
	n.served, n.reviews = served, reviews.SelfSubjectAccessReviews()
	return n, nil
}

// rights returns the permissions that the service cannot start without: those for leader
// election, and those to list and watch its prerequisites.
func rights(name string, o Options, wanted []Prerequisite) []authorizationv1.ResourceAttributes {
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
	for _, need := range wanted {
		namespaces := o.WatchNamespaces
		if len(namespaces) == 0 || need.ClusterWide {
			namespaces = []string{metav1.NamespaceAll}
		}
		for _, ns := range namespaces {
			for _, verb := range []string{"list", "watch"} {
				out = append(out, authorizationv1.ResourceAttributes{Group: need.Group, Resource: need.Resource, Namespace: ns, Verb: verb})
			}
		}
	}
	return out
}

// lack is what is missing.
type lack struct {
	definitions, rights []string
	unanswered          error // the API server could not be reached
}

func (l lack) err() error {
	switch {
	case l.unanswered != nil:
		return l.unanswered
	case len(l.definitions) > 0:
		return fmt.Errorf("definitions are missing: %s", strings.Join(l.definitions, "; "))
	case len(l.rights) > 0:
		return fmt.Errorf("rights are missing: %s", strings.Join(l.rights, "; "))
	}
	return nil
}

// wait returns true once nothing is missing, false when ctx ends first. It logs one line
// when what is missing has changed, and one when the wait ends.
func (n *prerequisites) wait(ctx context.Context, log logr.Logger) bool {
	delay, said := firstRetry, ""
	for {
		l := n.look(ctx)
		err := l.err()
		n.mu.Lock()
		n.err = err
		n.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil:
			if said != "" {
				log.Info("Found all definitions and rights")
			}
			return true
		case err.Error() != said:
			said = err.Error()
			n.say(log, l)
		}
		select {
		case <-ctx.Done():
			return false
		case <-n.clock.After(delay):
		}
		delay = min(2*delay, lastRetry)
	}
}

func (n *prerequisites) say(log logr.Logger, l lack) {
	switch {
	case l.unanswered != nil:
		log.Info("Waiting for the API server to tell definitions and rights", "reason", l.unanswered.Error())
	case len(l.definitions) > 0:
		log.Info("Waiting for definitions", "missing", strings.Join(l.definitions, "; "),
			"advice", "install the chart "+n.chartName+"-crds")
	default:
		log.Info("Waiting for rights", "missing", strings.Join(l.rights, "; "),
			"advice", "grant them to this service account; the chart "+n.chartName+" does with rbac.create=true")
	}
}

// check is for readiness.
func (n *prerequisites) check(*http.Request) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.err
}

// look checks all prerequisites once. It checks permissions only if all CRDs are installed.
func (n *prerequisites) look(ctx context.Context) (l lack) {
	if l.definitions, l.unanswered = n.missingDefinitions(ctx); l.unanswered != nil || len(l.definitions) > 0 {
		return l
	}
	l.rights, l.unanswered = n.missingRights(ctx)
	return l
}

func (n *prerequisites) missingDefinitions(ctx context.Context) (missing []string, err error) {
	lists := map[schema.GroupVersion]*metav1.APIResourceList{}
	for _, need := range n.wanted {
		if need.Late {
			continue
		}
		gv := need.GroupVersion()
		if lists[gv] == nil {
			lists[gv], err = n.served.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
			switch {
			case apierrors.IsNotFound(err):
				lists[gv] = &metav1.APIResourceList{}
			case err != nil:
				return nil, fmt.Errorf("ask for the resources of %s: %w", gv, err)
			}
		}
		is := func(r metav1.APIResource) bool { return r.Name == need.Resource }
		if !slices.ContainsFunc(lists[gv].APIResources, is) {
			missing = append(missing, need.GroupResource().String()+" in version "+need.Version)
		}
	}
	return missing, nil
}

func (n *prerequisites) missingRights(ctx context.Context) (missing []string, err error) {
	var refused []authorizationv1.ResourceAttributes
	for _, right := range n.rights {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
		review, err := n.reviews.Create(ctx, review, metav1.CreateOptions{})
		switch {
		case apierrors.IsForbidden(err):
			return nil, nil // a cluster without such reviews: the requests themselves will fail
		case err != nil:
			return nil, fmt.Errorf("ask for rights: %w", err)
		case !review.Status.Allowed:
			refused = append(refused, right)
		}
	}
	return describe(refused), nil
}

// describe returns texts such as "list, watch supersets.superset.apache.org in namespace
// team", one for all verbs of a resource.
func describe(rights []authorizationv1.ResourceAttributes) (out []string) {
	var order []authorizationv1.ResourceAttributes
	verbs := map[authorizationv1.ResourceAttributes][]string{}
	for _, right := range rights {
		of := right
		of.Verb = ""
		if verbs[of] == nil {
			order = append(order, of)
		}
		verbs[of] = append(verbs[of], right.Verb)
	}
	for _, of := range order {
		words := []string{strings.Join(verbs[of], ", "), schema.GroupResource{Group: of.Group, Resource: of.Resource}.String()}
		if of.Name != "" {
			words = append(words, of.Name)
		}
		if of.Namespace == metav1.NamespaceAll {
			words = append(words, "in all namespaces")
		} else {
			words = append(words, "in namespace "+of.Namespace)
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}
