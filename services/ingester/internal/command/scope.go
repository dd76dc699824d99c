package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// Scope selects the kinds and namespaces of a command.
type Scope struct {
	// Kinds by name, resource or table, in any case; none means all.
	Kinds []string
	// Namespaces; none means those of the ingester.
	Namespaces []string
}

// AddFlags adds --kinds and --namespaces.
func (s *Scope) AddFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&s.Kinds, "kinds", nil, "comma-separated kinds, for example Model,PipelineRun; empty means all")
	fs.StringSliceVar(&s.Namespaces, "namespaces", nil, "comma-separated namespaces; empty means those of --watch-namespaces, or all")
}

// Resolve returns the kinds in their canonical order and the namespaces; none means all.
func (s Scope) Resolve(env Env) ([]*registry.Kind, []string, error) {
	namespaces := s.Namespaces
	if len(namespaces) == 0 {
		namespaces = env.Namespaces
	}
	namespaces = slices.Compact(slices.Sorted(slices.Values(namespaces)))
	if slices.Contains(namespaces, "") {
		return nil, nil, errors.New("--namespaces must not contain an empty name")
	}
	if len(s.Kinds) == 0 {
		return env.Kinds.Kinds(), namespaces, nil
	}
	selected := map[string]bool{}
	for _, name := range s.Kinds {
		kind, err := lookup(env.Kinds, name)
		if err != nil {
			return nil, nil, err
		}
		selected[kind.Name] = true
	}
	var out []*registry.Kind
	for _, kind := range env.Kinds.Kinds() {
		if selected[kind.Name] {
			out = append(out, kind)
		}
	}
	return out, namespaces, nil
}

func lookup(kinds *registry.Registry, name string) (*registry.Kind, error) {
	names := make([]string, 0, len(kinds.Kinds()))
	for _, kind := range kinds.Kinds() {
		if strings.EqualFold(name, kind.Name) || strings.EqualFold(name, kind.Plural) {
			return kind, nil
		}
		names = append(names, kind.Name)
	}
	return nil, fmt.Errorf("--kinds: unknown kind %q, want one of %s", name, strings.Join(names, ", "))
}

// MissingNamespaces returns the namespaces that the cluster does not have.
func MissingNamespaces(ctx context.Context, env Env, namespaces []string) ([]string, error) {
	var out []string
	for _, name := range namespaces {
		var ns metav1.PartialObjectMetadata
		ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		err := env.Client.Get(ctx, types.NamespacedName{Name: name}, &ns)
		switch {
		case apierrors.IsNotFound(err):
			out = append(out, name)
		case err != nil:
			return nil, Explain(fmt.Errorf("get namespace %s: %w", name, err))
		}
	}
	return out, nil
}
