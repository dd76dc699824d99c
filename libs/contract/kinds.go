package contract

import (
	"maps"
	"slices"
	"strings"
)

// GroupVersionKind names a Kubernetes kind without importing Kubernetes.
type GroupVersionKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// Kind is the token of a Kubernetes kind in subjects.
// The registry is closed: a token that [Lookup] does not find is rejected.
type Kind string

// Tokens of the kinds that Flotilla manages.
const (
	Superset            Kind = "superset"
	FireboltEngine      Kind = "fireboltengine"
	FireboltEngineClass Kind = "fireboltengineclass"
	FireboltInstance    Kind = "fireboltinstance"
)

// michelangelo is the group of the kinds that the ingester stores.
const michelangelo = "michelangelo.api"

var registry = withMichelangelo(map[Kind]GroupVersionKind{
	Superset:            {"superset.apache.org", "v1alpha1", "Superset"},
	FireboltEngine:      {"compute.firebolt.io", "v1alpha1", "FireboltEngine"},
	FireboltEngineClass: {"compute.firebolt.io", "v1alpha1", "FireboltEngineClass"},
	FireboltInstance:    {"compute.firebolt.io", "v1alpha1", "FireboltInstance"},
})

// withMichelangelo adds the kinds that the ingester stores.
func withMichelangelo(kinds map[Kind]GroupVersionKind) map[Kind]GroupVersionKind {
	for _, kind := range michelangeloKinds {
		kinds[Kind(strings.ToLower(kind))] = GroupVersionKind{michelangelo, "v2", kind}
	}
	return kinds
}

// Lookup returns the Kubernetes kind behind a token.
func Lookup(k Kind) (GroupVersionKind, bool) {
	gvk, ok := registry[k]
	return gvk, ok
}

// Stored reports whether the ingester stores the objects of a kind. Flotilla writes no conditions on them.
func (k Kind) Stored() bool { return registry[k].Group == michelangelo }

// KindFor returns the token of a Kubernetes group and kind.
func KindFor(group, kind string) (Kind, bool) {
	for token, gvk := range registry {
		if gvk.Group == group && gvk.Kind == kind {
			return token, true
		}
	}
	return "", false
}

// Kinds lists all tokens in alphabetical order.
func Kinds() []Kind { return slices.Sorted(maps.Keys(registry)) }
