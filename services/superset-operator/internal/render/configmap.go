package render

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render/pyconfig"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/scripts"
)

// Keys of the ConfigMap.
const (
	// ConfigKey is the key of a Python workload's configuration.
	ConfigKey    = "superset_config.py"
	bootstrapKey = "superset_bootstrap.sh"
	// secretKeysKey is the key of the program that checks and changes the key of stored secrets.
	secretKeysKey = "superset_secret_keys.py"
	// preflightKey is the key of the program that checks the image, the metastore and the broker.
	preflightKey = "superset_preflight.py"
	// preflightServersKey is the key of the module that this program imports.
	preflightServersKey = "superset_preflight_servers.py"
	// gunicornKey is the key of the web server's configuration of gunicorn.
	gunicornKey = "superset_gunicorn.py"
)

// ComponentConfigMap renders the ConfigMap of a component; nil for a websocket
// server without an inline config.json.
func ComponentConfigMap(c *resolve.Component) *corev1.ConfigMap {
	switch {
	case c.Descriptor.Name == component.WebServerName && len(c.Pod.Container.Command) == 0:
		m := pythonConfigMap(&c.Workload)
		m.Data[gunicornKey] = scripts.Gunicorn()
		return m
	case c.Descriptor.Python:
		return pythonConfigMap(&c.Workload)
	case c.JSON == nil || c.JSONFrom != nil:
		return nil
	}
	return configMap(&c.Workload, map[string]string{DocumentKey: document(c)})
}

// TaskConfigMap renders the ConfigMap of a task; nil for the clone, which runs no Superset. A task that runs the preflight
// also gets the configuration that only a component has, such as spec.webServer.config, to check its syntax.
func TaskConfigMap(t *resolve.Task, components []resolve.Component) *corev1.ConfigMap {
	if t.Clone != nil {
		return nil
	}
	c := pythonConfigMap(&t.Workload)
	preflight := t.Kind.Type == resolve.Preflight.Type
	if preflight || t.Kind.Type == resolve.Rotate.Type && len(t.Command) == 0 {
		c.Data[secretKeysKey] = scripts.SecretKeys()
	}
	if preflight || t.Checks {
		c.Data[preflightKey], c.Data[preflightServersKey] = scripts.Preflight(), scripts.PreflightServers()
		for i := range components {
			if o := &components[i]; o.Python.ComponentConfig != nil && o.Image == t.Image {
				c.Data["spec."+o.Descriptor.Key+".config"] = *o.Python.ComponentConfig
			}
		}
	}
	return c
}

// pythonConfigMap renders the ConfigMap with superset_config.py and, if there is one, the bootstrap script.
func pythonConfigMap(w *resolve.Workload) *corev1.ConfigMap {
	data := map[string]string{ConfigKey: pyconfig.Config(&w.Python)}
	if w.Bootstrap != "" {
		data[bootstrapKey] = w.Bootstrap
	}
	return configMap(w, data)
}

func configMap(w *resolve.Workload, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.ConfigName, Labels: layered(w.Labels)},
		Data:       data,
	}
}
