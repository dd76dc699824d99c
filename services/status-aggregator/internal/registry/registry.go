package registry

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Kind is one row: a kind whose conditions the aggregator writes.
type Kind struct {
	// Token identifies the kind in subjects and keys.
	Token contract.Kind
	// GVK is the version to watch and to write.
	GVK schema.GroupVersionKind
	// Resource is the plural of the kind, as in its CRD's name and in RBAC rules.
	Resource string
	// Observer is the authoritative observer: the last token of the observation subjects.
	Observer string
	// Conditions, Phase and Transitions are the field paths in the object.
	Conditions, Phase, Transitions []string
}

// CRD returns the name of the CustomResourceDefinition, for example "supersets.superset.apache.org".
func (k Kind) CRD() string { return k.Resource + "." + k.GVK.Group }

// Set is a closed list of kinds, found by token.
type Set struct {
	rows   []Kind
	byName map[contract.Kind]Kind
}

// Managed returns the kinds of architecture D2.
func Managed() (Set, error) {
	return New(
		row(contract.Superset, "supersets", "superset-operator"),
		row(contract.FireboltEngine, "fireboltengines", "engine-operator"),
		row(contract.FireboltInstance, "fireboltinstances", "engine-operator"),
	)
}

// New returns a set of rows. A token must be in the contract's registry and stand for the row's kind there.
func New(rows ...Kind) (Set, error) {
	s := Set{rows: rows, byName: make(map[contract.Kind]Kind, len(rows))}
	for _, k := range rows {
		gvk, ok := contract.Lookup(k.Token)
		if !ok || gvk.Group != k.GVK.Group || gvk.Kind != k.GVK.Kind {
			return Set{}, fmt.Errorf("kind token %q does not stand for %s in the contract", k.Token, k.GVK)
		}
		if _, duplicate := s.byName[k.Token]; duplicate {
			return Set{}, fmt.Errorf("kind token %q is listed twice", k.Token)
		}
		s.byName[k.Token] = k
	}
	return s, nil
}

// Kinds returns the rows in their original order.
func (s Set) Kinds() []Kind { return s.rows }

// Lookup finds a row by its token.
func (s Set) Lookup(token contract.Kind) (Kind, bool) {
	k, ok := s.byName[token]
	return k, ok
}

// ObservedBy returns the rows of the kinds that the observer observes.
func (s Set) ObservedBy(observer string) []Kind {
	var out []Kind
	for _, k := range s.rows {
		if k.Observer == observer {
			out = append(out, k)
		}
	}
	return out
}

func row(token contract.Kind, resource, observer string) Kind {
	gvk, ok := contract.Lookup(token)
	if !ok {
		return Kind{Token: token} // rejected by New
	}
	return Kind{
		Token:       token,
		GVK:         schema.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind},
		Resource:    resource,
		Observer:    observer,
		Conditions:  []string{"status", "conditions"},
		Phase:       []string{"status", "phase"},
		Transitions: []string{"status", "transitions"},
	}
}
