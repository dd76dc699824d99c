package render

import (
	"bytes"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// Volumes of the files that the operator adds, and where they are mounted.
// Superset's image has configDir on its Python path.
const (
	configVolume = "superset-config"
	configDir    = "/app/pythonpath"

	documentVolume = "websocket-config"
	// DocumentKey is the key of the websocket server's settings in its ConfigMap.
	DocumentKey  = "config.json"
	documentPath = "/home/superset-websocket/config.json"
)

// files holds the volume that the operator adds to a pod, and its mount in the main
// container; nil for none.
type files struct {
	volume corev1.Volume
	mount  corev1.VolumeMount
}

func (f *files) volumes() []corev1.Volume {
	if f == nil {
		return nil
	}
	return []corev1.Volume{f.volume}
}

func (f *files) mounts() []corev1.VolumeMount {
	if f == nil {
		return nil
	}
	return []corev1.VolumeMount{f.mount}
}

// pythonFiles returns superset_config.py and the bootstrap script.
func pythonFiles(w *resolve.Workload) *files {
	return &files{
		volume: corev1.Volume{Name: configVolume, VolumeSource: fromConfigMap(w.ConfigName)},
		mount:  corev1.VolumeMount{Name: configVolume, MountPath: configDir, ReadOnly: true},
	}
}

// componentFiles returns the files of a component: Python, or the websocket server's
// config.json from the ConfigMap or directly from the user's Secret.
func componentFiles(c *resolve.Component) *files {
	if c.Descriptor.Python {
		return pythonFiles(&c.Workload)
	}
	f := &files{mount: corev1.VolumeMount{
		Name: documentVolume, MountPath: documentPath, SubPath: DocumentKey, ReadOnly: true,
	}}
	switch {
	case c.JSONFrom != nil:
		f.volume = corev1.Volume{Name: documentVolume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: c.JSONFrom.Name, Optional: c.JSONFrom.Optional,
			Items: []corev1.KeyToPath{{Key: c.JSONFrom.Key, Path: DocumentKey}},
		}}}
	case c.JSON != nil:
		f.volume = corev1.Volume{Name: documentVolume, VolumeSource: fromConfigMap(c.ConfigName)}
	default:
		return nil
	}
	return f
}

func fromConfigMap(name string) corev1.VolumeSource {
	return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: name},
	}}
}

// document returns the websocket server's config.json, indented and with sorted keys,
// so that the same settings always have the same text. Numbers keep their spelling.
func document(c *resolve.Component) string {
	decoder := json.NewDecoder(bytes.NewReader(c.JSON))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		// The schema accepts only objects, and validation rejects the rest.
		return string(c.JSON)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return string(c.JSON)
	}
	return out.String()
}
