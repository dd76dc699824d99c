package exposure

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

const (
	defaultInterval = "30s"
	// servicePort is the name of the one port of every component's Service.
	servicePort = "http"
)

func serviceMonitor(sup *v1alpha1.Superset, spec *v1alpha1.ServiceMonitorSpec, selector map[string]string) *unstructured.Unstructured {
	endpoint := map[string]any{"port": servicePort, "interval": defaultInterval}
	if spec.Interval != nil {
		endpoint["interval"] = *spec.Interval
	}
	if spec.ScrapeTimeout != nil {
		endpoint["scrapeTimeout"] = *spec.ScrapeTimeout
	}
	if spec.Path != nil {
		endpoint["path"] = *spec.Path
	}
	reserved := layered(names.Shared(sup.Name), map[string]string{v1alpha1.LabelInstance: sup.Name})
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "monitoring.coreos.com/v1",
		"kind":       "ServiceMonitor",
		"metadata": map[string]any{
			"namespace": sup.Namespace, "name": sup.Name, "labels": toUnstructured(layered(spec.Labels, reserved)),
		},
		"spec": map[string]any{
			"selector":          map[string]any{"matchLabels": toUnstructured(selector)},
			"namespaceSelector": map[string]any{"matchNames": []any{sup.Namespace}},
			"endpoints":         []any{endpoint},
		},
	}}
}

func toUnstructured(labels map[string]string) map[string]any {
	out := make(map[string]any, len(labels))
	for k, v := range labels {
		out[k] = v
	}
	return out
}
