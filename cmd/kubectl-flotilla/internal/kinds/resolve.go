package kinds

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Errors that a user can cause or fix.
var (
	// ErrUnknown reports a kind that does not exist or that Flotilla does not manage.
	ErrUnknown = errors.New("unknown kind")
	// ErrStored reports a kind that the ingester stores: it has no conditions to show or to wait for.
	ErrStored = errors.New("kind without conditions")
	// ErrNotInstalled reports that the cluster has no CustomResourceDefinition for the kind.
	ErrNotInstalled = errors.New("kind not installed")
	// ErrUsage reports arguments without a resource.
	ErrUsage = errors.New("want KIND/NAME or KIND NAME")
)

// Managed lists the kinds whose conditions Flotilla writes, in display order.
var Managed = managed(contract.Kinds())

// managed orders the kinds of the contract that are not only stored: kinds that others refer to come first.
func managed(all []contract.Kind) []contract.Kind {
	out := []contract.Kind{contract.Superset, contract.FireboltInstance, contract.FireboltEngineClass, contract.FireboltEngine}
	for _, kind := range all {
		if !kind.Stored() && !slices.Contains(out, kind) {
			out = append(out, kind)
		}
	}
	return out
}

// Mapping is a kind with its resource in the cluster.
type Mapping struct {
	Kind     contract.Kind
	Resource schema.GroupVersionResource
}

// Target is one resource of the command line.
type Target struct {
	Mapping
	Name string
}

// String returns kind/name.
func (t Target) String() string { return string(t.Kind) + "/" + t.Name }

// Targets parses arguments of the forms "kind/name ..." and "kind name ...". If kind is set, names without a kind
// are of this kind.
func (c *Cluster) Targets(args []string, kind contract.Kind) ([]Target, error) {
	if len(args) == 0 {
		return nil, ErrUsage
	}
	arg, names := string(kind), args
	switch {
	case slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "/") }):
		return c.slashed(args)
	case kind == "":
		arg, names = args[0], args[1:]
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: no name is given for %q", ErrUsage, arg)
	}
	m, err := c.Resolve(arg)
	if err != nil {
		return nil, err
	}
	out := make([]Target, len(names))
	for i, name := range names {
		out[i] = Target{m, name}
	}
	return out, nil
}

func (c *Cluster) slashed(args []string) ([]Target, error) {
	out := make([]Target, 0, len(args))
	for _, a := range args {
		kind, name, found := strings.Cut(a, "/")
		if !found || kind == "" || name == "" || strings.Contains(name, "/") {
			return nil, fmt.Errorf("%w, got %q", ErrUsage, a)
		}
		m, err := c.Resolve(kind)
		if err != nil {
			return nil, err
		}
		out = append(out, Target{m, name})
	}
	return out, nil
}

// Resolve finds a kind by its name, plural, short name or any of them with the group, for example "supersets",
// "fireng" or "supersets.superset.apache.org".
func (c *Cluster) Resolve(arg string) (Mapping, error) {
	lower := strings.ToLower(arg)
	if _, ok := contract.Lookup(contract.Kind(lower)); ok {
		return c.mapping(contract.Kind(lower))
	}
	full, short := schema.ParseResourceArg(lower)
	candidates := []schema.GroupVersionResource{short.WithVersion("")}
	if full != nil {
		candidates = append([]schema.GroupVersionResource{*full}, candidates...)
	}
	for _, candidate := range candidates {
		gvk, err := c.mapper.KindFor(candidate)
		switch {
		case meta.IsNoMatchError(err):
			continue
		case err != nil:
			return Mapping{}, fmt.Errorf("find kind %q: %w", arg, err)
		}
		if kind, ok := contract.KindFor(gvk.Group, gvk.Kind); ok {
			return c.mapping(kind)
		}
		return Mapping{}, fmt.Errorf("%w %q: Flotilla does not manage %s; it manages %s", ErrUnknown, arg, gvk.GroupKind(), known())
	}
	if kind, ok := absent(short); ok {
		return c.mapping(kind)
	}
	return Mapping{}, fmt.Errorf("%w %q: Flotilla manages %s", ErrUnknown, arg, known())
}

// mapping returns the resource of a kind by discovery.
func (c *Cluster) mapping(kind contract.Kind) (Mapping, error) {
	gvk, _ := contract.Lookup(kind)
	if !slices.Contains(Managed, kind) {
		return Mapping{}, fmt.Errorf("%w: the ingester only stores a %s: use \"kubectl get %s.%s\" and \"ingester verify\"",
			ErrStored, gvk.Kind, kind, gvk.Group)
	}
	m, err := c.mapper.RESTMapping(schema.GroupKind{Group: gvk.Group, Kind: gvk.Kind})
	switch {
	case meta.IsNoMatchError(err):
		return Mapping{}, notInstalled(kind)
	case err != nil:
		return Mapping{}, fmt.Errorf("find kind %q: %w", kind, err)
	}
	return Mapping{kind, m.Resource}, nil
}

// Installed returns the managed kinds that the cluster serves.
func (c *Cluster) Installed() ([]Mapping, error) {
	var out []Mapping
	for _, kind := range Managed {
		m, err := c.mapping(kind)
		switch {
		case errors.Is(err, ErrNotInstalled):
		case err != nil:
			return nil, err
		default:
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: the cluster serves none of %s", ErrNotInstalled, known())
	}
	return out, nil
}

// absent returns the managed kind of a resource that the cluster does not serve.
func absent(r schema.GroupResource) (contract.Kind, bool) {
	for _, kind := range contract.Kinds() {
		gvk, _ := contract.Lookup(kind)
		plural, singular := meta.UnsafeGuessKindToResource(schema.GroupVersionKind(gvk))
		if (r.Group == "" || r.Group == gvk.Group) && (r.Resource == plural.Resource || r.Resource == singular.Resource) {
			return kind, true
		}
	}
	return "", false
}

func notInstalled(kind contract.Kind) error {
	gvk, _ := contract.Lookup(kind)
	return fmt.Errorf("%w: the cluster has no %s of group %s; is the operator's CustomResourceDefinition applied?",
		ErrNotInstalled, gvk.Kind, gvk.Group)
}

func known() string {
	names := make([]string, len(Managed))
	for i, kind := range Managed {
		names[i] = string(kind)
	}
	return strings.Join(names, ", ")
}
