package adopt

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
)

// MatchesSpec reports whether a live Deployment has everything that the user's part of the spec
// sets: the replicas and each field of the pod template. A user may have changed the spec
// while no operator ran, and that change must not be lost by the adoption.
func MatchesSpec(user *corev1.PodTemplateSpec, desired, live *appsv1.Deployment) bool {
	if ptr.Deref(desired.Spec.Replicas, 1) != ptr.Deref(live.Spec.Replicas, 1) {
		return false
	}
	if user == nil {
		return true
	}
	want, err := runtime.DefaultUnstructuredConverter.ToUnstructured(user)
	if err != nil {
		return false
	}
	have, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&live.Spec.Template)
	if err != nil {
		return false
	}
	return contains(want, have)
}

// MatchesDatabase reports whether a live metadata service and its configuration use the database of the spec. A user may
// have switched to another one while no operator ran. What the configuration does not show, matches.
func MatchesDatabase(i *v1alpha1.FireboltInstance, config string, live *appsv1.Deployment) bool {
	secret := render.DatabaseOf(i).Secret
	for _, v := range live.Spec.Template.Spec.Volumes {
		if v.Name == render.VolumeCredentials && v.Secret != nil && v.Secret.SecretName != secret {
			return false
		}
	}
	var document map[string]struct {
		Storage struct {
			Postgres map[string]any `json:"postgresql"`
		} `json:"metadata_storage"`
	}
	if yaml.Unmarshal([]byte(config), &document) != nil {
		return true
	}
	for _, root := range document {
		if !usesDatabase(i, root.Storage.Postgres) {
			return false
		}
	}
	return true
}

// usesDatabase compares the connection in a configuration with the spec. Of the own database it compares only the Service, by
// any of its names: those of earlier operators may differ.
func usesDatabase(i *v1alpha1.FireboltInstance, have map[string]any) bool {
	if i.Spec.Metadata.Postgres == nil {
		host, _, _ := strings.Cut(fmt.Sprint(have["host"]), ".")
		return have["host"] == nil || host == names.Postgres(i.Name)
	}
	want := render.DatabaseOf(i)
	for key, value := range map[string]any{"host": want.Host, "port": want.Port, "database": want.Name, "schema": want.Schema} {
		if have[key] != nil && fmt.Sprint(have[key]) != fmt.Sprint(value) {
			return false
		}
	}
	return true
}

// contains reports whether have contains every value that is set in want. It may contain more: defaults
// of the API server, and fields that the operator adds.
func contains(want, have any) bool {
	switch w := want.(type) {
	case nil:
		return true
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return len(w) == 0
		}
		for k, v := range w {
			if !contains(v, h[k]) {
				return false
			}
		}
		return true
	case []any:
		h, ok := have.([]any)
		if !ok {
			return len(w) == 0
		}
		for _, v := range w {
			if !slices.ContainsFunc(h, func(e any) bool { return contains(v, e) }) {
				return false
			}
		}
		return true
	}
	return want == have
}
