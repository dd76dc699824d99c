package render

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
)

// GracePeriodSeconds is how long a pod of an engine may take to end.
const GracePeriodSeconds = 60

// Instance is what an engine needs to know of its instance.
type Instance struct {
	ID       string
	Endpoint string // host:port of the metadata service
}

// Images are the images of containers that users may leave to the operator.
type Images struct {
	Engine, Web, Metadata, Postgres string
}

// Input is all that a generation is made from.
type Input struct {
	Engine     resolve.Engine
	Instance   Instance
	Images     Images
	Generation int64
}

// Generation is everything of one generation.
type Generation struct {
	Config      *corev1.ConfigMap
	Headless    *corev1.Service
	StatefulSet *appsv1.StatefulSet
}

// Of renders a generation.
func Of(in Input) (Generation, error) {
	out, err := draw(in)
	if err != nil {
		return Generation{}, err
	}
	hash, err := Fingerprint(in)
	if err != nil {
		return Generation{}, err
	}
	out.StatefulSet.Annotations[names.AnnotationRenderingHash] = hash
	return out, nil
}

func draw(in Input) (Generation, error) {
	text, err := configText(in)
	if err != nil {
		return Generation{}, err
	}
	meta := metav1.ObjectMeta{
		Name:      names.Config(in.Engine.Name, in.Generation),
		Namespace: in.Engine.Namespace,
		Labels:    names.GenerationLabels(in.Engine.Name, in.Generation),
	}
	return Generation{
		Config: &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: meta,
			Data: map[string]string{"config.yaml": text},
		},
		Headless:    Headless(in.Engine.Namespace, in.Engine.Name, in.Generation),
		StatefulSet: statefulSet(in),
	}, nil
}

// configText is config.yaml: the user's part below the operator's.
func configText(in Input) (string, error) {
	endpoint := in.Instance.Endpoint
	if in.Engine.EndpointOverride != "" {
		endpoint = in.Engine.EndpointOverride
	}
	nodes := make([]any, 0, in.Engine.Replicas)
	for i := range in.Engine.Replicas {
		host := fmt.Sprintf("%s-%d.%s", names.Generation(in.Engine.Name, in.Generation), i,
			names.ServiceHost(names.Headless(in.Engine.Name, in.Generation), in.Engine.Namespace))
		nodes = append(nodes, map[string]any{"host": host})
	}
	ours := map[string]any{
		"schema_version": "1.0",
		"instance": map[string]any{
			"id": in.Instance.ID, "type": "multi_engine",
			"multi_engine": map[string]any{"metadata_endpoint": endpoint},
		},
		"engine": map[string]any{
			"id": in.Engine.Name, "nodes": nodes,
			"termination_grace_period": fmt.Sprintf("%ds", max(1, GracePeriodSeconds-5)),
		},
	}
	defaults := map[string]any{"logging": map[string]any{"format": "json"}}
	text, err := yaml.Marshal(resolve.Overlay(resolve.Overlay(defaults, in.Engine.Config), ours))
	if err != nil {
		return "", fmt.Errorf("write config.yaml of engine %q: %w", in.Engine.Name, err)
	}
	return string(text), nil
}
