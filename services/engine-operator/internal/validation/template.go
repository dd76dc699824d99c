package validation

import (
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// template checks a pod template at the given path by the rules of its component.
func (c component) template(at *field.Path, t *corev1.PodTemplateSpec, p protected) field.ErrorList {
	if t == nil {
		return nil
	}
	out := metadata(at.Child("metadata"), &t.ObjectMeta)
	spec := at.Child("spec")
	out = append(out, podFields.check(spec, &t.Spec)...)
	out = append(out, c.containerNames(spec, &t.Spec)...)
	for i := range t.Spec.Containers {
		own := &t.Spec.Containers[i]
		entryPath := entry(spec.Child("containers"), own.Name, i)
		if own.Name == c.primary {
			out = append(out, c.container.check(entryPath, own)...)
			out = append(out, c.primaryLists(entryPath, own)...)
		} else {
			out = append(out, c.sidecarMounts(entryPath, own)...)
		}
		out = append(out, p.environment(entryPath, own)...)
	}
	for i := range t.Spec.InitContainers {
		own := &t.Spec.InitContainers[i]
		entryPath := entry(spec.Child("initContainers"), own.Name, i)
		out = append(out, c.sidecarMounts(entryPath, own)...)
		out = append(out, p.environment(entryPath, own)...)
	}
	for i := range t.Spec.Volumes {
		v := &t.Spec.Volumes[i]
		entryPath := entry(spec.Child("volumes"), v.Name, i)
		if !c.dropped && matches(c.volumes, v.Name) {
			out = append(out, field.Forbidden(entryPath, isVolume))
		}
		out = append(out, p.volume(entryPath, &v.VolumeSource)...)
	}
	return distinct(out)
}

func metadata(at *field.Path, m *metav1.ObjectMeta) field.ErrorList {
	out := metadataFields.check(at, m)
	for _, of := range []struct {
		name string
		in   map[string]string
	}{{"labels", m.Labels}, {"annotations", m.Annotations}} {
		for _, key := range slices.Sorted(maps.Keys(of.in)) {
			if strings.HasPrefix(key, reservedPrefix) {
				out = append(out, field.Forbidden(at.Child(of.name).Key(key), isReserved))
			}
		}
	}
	return out
}

// ignored lists the fields of a template that have no effect. The earlier operator accepted them
// and ignored them, so they cause warnings, not errors.
func (c component) ignored(at *field.Path, t *corev1.PodTemplateSpec) field.ErrorList {
	if t == nil {
		return nil
	}
	spec := at.Child("spec")
	out := podFields.ignored(spec, &t.Spec)
	for i := range t.Spec.Containers {
		if own := &t.Spec.Containers[i]; own.Name == c.primary {
			out = append(out, c.container.ignored(entry(spec.Child("containers"), own.Name, i), own)...)
		}
	}
	for i := range t.Spec.Volumes {
		if v := &t.Spec.Volumes[i]; c.dropped && matches(c.volumes, v.Name) {
			out = append(out, field.Forbidden(entry(spec.Child("volumes"), v.Name, i), isUnused))
		}
	}
	return distinct(out)
}

// ignored lists the fields of a struct that are set and have no effect, also fields that the
// table does not contain.
func (f fields) ignored(at *field.Path, v any) field.ErrorList {
	var out field.ErrorList
	of := reflect.ValueOf(v).Elem()
	for i := range of.NumField() {
		name := jsonName(of.Type().Field(i))
		if !unset(of.Field(i)) && !slices.Contains(f.allowed, name) && !slices.Contains(f.owned, name) {
			out = append(out, field.Forbidden(at.Child(name), isUnused))
		}
	}
	return out
}

// check rejects the set fields of a struct that the operator owns.
func (f fields) check(at *field.Path, v any) field.ErrorList {
	var out field.ErrorList
	of := reflect.ValueOf(v).Elem()
	for i := range of.NumField() {
		if unset(of.Field(i)) {
			continue
		}
		if name := jsonName(of.Type().Field(i)); slices.Contains(f.owned, name) {
			out = append(out, field.Forbidden(at.Child(name), isOwned))
		}
	}
	return out
}

// unset reports whether a field has no content: an empty list counts as unset.
func unset(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	default:
		return v.IsZero()
	}
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// containerNames rejects names that are used twice or that the operator reserves.
func (c component) containerNames(at *field.Path, s *corev1.PodSpec) field.ErrorList {
	var out field.ErrorList
	seen := map[string]bool{}
	for _, list := range []struct {
		name string
		in   []corev1.Container
		init bool
	}{{"containers", s.Containers, false}, {"initContainers", s.InitContainers, true}} {
		for i := range list.in {
			name := list.in[i].Name
			entryPath := entry(at.Child(list.name), name, i)
			switch {
			case slices.Contains(c.reserved, name):
				out = append(out, field.Forbidden(entryPath, isNameTaken))
			case list.init && name == c.primary:
				out = append(out, field.Forbidden(entryPath, isPrimary))
			case seen[name]:
				out = append(out, &field.Error{Type: field.ErrorTypeDuplicate, Field: entryPath.String(), BadValue: name, Detail: isDuplicate})
			}
			seen[name] = true
		}
	}
	return out
}

// primaryLists rejects entries of the operator in those lists of the main container that
// users may extend.
func (c component) primaryLists(at *field.Path, own *corev1.Container) field.ErrorList {
	var out field.ErrorList
	for i, e := range own.Env {
		if slices.Contains(c.env, e.Name) {
			out = append(out, field.Forbidden(entry(at.Child("env"), e.Name, i), isOwned))
		}
	}
	for i, m := range own.VolumeMounts {
		entryPath := entry(at.Child("volumeMounts"), m.Name, i)
		switch {
		case matches(c.volumes, m.Name):
			out = append(out, field.Forbidden(entryPath, isOwned))
		case slices.Contains(c.mountPaths, path.Clean(m.MountPath)):
			out = append(out, field.Forbidden(entryPath.Child("mountPath"), isMountPath))
		}
	}
	for i, d := range own.VolumeDevices {
		if matches(c.volumes, d.Name) {
			out = append(out, field.Forbidden(entry(at.Child("volumeDevices"), d.Name, i), isOwned))
		}
	}
	return out
}

// sidecarMounts prevents users' own containers from mounting the operator's Secrets.
func (c component) sidecarMounts(at *field.Path, own *corev1.Container) field.ErrorList {
	var out field.ErrorList
	for i, m := range own.VolumeMounts {
		if matches(c.secret, m.Name) {
			out = append(out, field.Forbidden(entry(at.Child("volumeMounts"), m.Name, i), isSecretMade))
		}
	}
	return out
}

// entry returns the path of a list's entry: by name, or by index if it has none.
func entry(list *field.Path, name string, i int) *field.Path {
	if name == "" {
		return list.Index(i)
	}
	return list.Key(name)
}

// matches reports whether the name matches one of the patterns. A test checks the constant
// patterns, so none is malformed.
func matches(shapes []string, name string) bool {
	return slices.ContainsFunc(shapes, func(shape string) bool {
		ok, err := path.Match(shape, name)
		return ok && err == nil
	})
}

// distinct drops errors with the same path as an earlier one.
func distinct(in field.ErrorList) field.ErrorList {
	var out field.ErrorList
	seen := map[string]bool{}
	for _, e := range in {
		if !seen[e.Field] {
			seen[e.Field] = true
			out = append(out, e)
		}
	}
	return out
}
