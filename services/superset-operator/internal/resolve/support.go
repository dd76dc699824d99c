package resolve

import "github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"

// Unsupported lists the fields of the spec that this version cannot honour, as
// paths. Running a Superset without what its user asked for could lose data (a
// clone that does not happen) or expose it (a policy that is not there), so a
// Superset with any of them is refused as a whole.
func Unsupported(spec *v1alpha1.SupersetSpec) []string {
	var out []string
	for _, field := range unsupported {
		if field.used(spec) {
			out = append(out, field.path)
		}
	}
	return out
}

var unsupported = []struct {
	path string
	used func(*v1alpha1.SupersetSpec) bool
}{
	{"spec.metastore.createDatabase", func(s *v1alpha1.SupersetSpec) bool {
		return s.Metastore != nil && enabled(s.Metastore.CreateDatabase)
	}},
	{"spec.lifecycle.clone", func(s *v1alpha1.SupersetSpec) bool {
		clone := orZero(s.Lifecycle).Clone
		return !off(s) && clone != nil && !enabled(clone.Disabled)
	}},
	{"spec.lifecycle.rotate", func(s *v1alpha1.SupersetSpec) bool {
		rotate := orZero(s.Lifecycle).Rotate
		return !off(s) && rotate != nil && !enabled(rotate.Disabled)
	}},
}

// off is true when no task runs at all, so that settings of tasks have no effect anyway.
func off(s *v1alpha1.SupersetSpec) bool { return enabled(orZero(s.Lifecycle).Disabled) }
