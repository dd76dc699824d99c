package resolve

import (
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
)

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
	for _, d := range component.Enabled(spec) {
		s := d.Settings(spec)
		if s.Autoscaling != nil {
			out = append(out, "spec."+d.Key+".autoscaling")
		}
		if s.PodDisruptionBudget != nil {
			out = append(out, "spec."+d.Key+".podDisruptionBudget")
		}
	}
	return out
}

var unsupported = []struct {
	path string
	used func(*v1alpha1.SupersetSpec) bool
}{
	{"spec.celeryFlower", func(s *v1alpha1.SupersetSpec) bool { return s.CeleryFlower != nil }},
	{"spec.websocketServer", func(s *v1alpha1.SupersetSpec) bool { return s.WebsocketServer != nil }},
	{"spec.mcpServer", func(s *v1alpha1.SupersetSpec) bool { return s.MCPServer != nil }},
	{"spec.valkey", func(s *v1alpha1.SupersetSpec) bool { return s.Valkey != nil }},
	{"spec.autoscaling", func(s *v1alpha1.SupersetSpec) bool { return s.Autoscaling != nil }},
	{"spec.podDisruptionBudget", func(s *v1alpha1.SupersetSpec) bool { return s.PodDisruptionBudget != nil }},
	{"spec.networking", func(s *v1alpha1.SupersetSpec) bool { return s.Networking != nil }},
	{"spec.monitoring", func(s *v1alpha1.SupersetSpec) bool { return s.Monitoring != nil }},
	{"spec.networkPolicy", func(s *v1alpha1.SupersetSpec) bool { return s.NetworkPolicy != nil }},
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
	{"spec.lifecycle.maintenancePage", func(s *v1alpha1.SupersetSpec) bool {
		return !off(s) && orZero(s.Lifecycle).MaintenancePage != nil
	}},
	{"spec.lifecycle.upgradeMode", func(s *v1alpha1.SupersetSpec) bool {
		return !off(s) && or(orZero(s.Lifecycle).UpgradeMode, v1alpha1.UpgradeAutomatic) == v1alpha1.UpgradeSupervised
	}},
}

// off is true when no task runs at all, so that settings of tasks have no effect anyway.
func off(s *v1alpha1.SupersetSpec) bool { return enabled(orZero(s.Lifecycle).Disabled) }
