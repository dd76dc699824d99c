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

// Termination of an engine pod: it first serves for endpointSeconds, until the gateway, which resolves the name each second,
// has removed its address. Then the engine gets SIGTERM and has engineGraceSeconds to finish its queries.
const (
	// gracePeriodSeconds is the termination grace period of an engine pod.
	gracePeriodSeconds = 60
	endpointSeconds    = 5
	engineGraceSeconds = gracePeriodSeconds - endpointSeconds - 5
	// frozenGraceSeconds is the grace period of an engine that fails its liveness probe: it makes no progress, and its
	// queries hang until the process exits.
	frozenGraceSeconds = 5
)

// Instance holds the data of an instance that its engines need.
type Instance struct {
	ID       string
	Endpoint string // host:port of the metadata service
}

// Images are the images of containers for which users set none.
type Images struct {
	Engine, Web, Metadata, Postgres, Gateway string
}

// Input is the complete input of a generation.
type Input struct {
	Engine     resolve.Engine
	Instance   Instance
	Images     Images
	Generation int64
}

// Generation holds all objects of one generation.
type Generation struct {
	// Fingerprint identifies the rendering, independent of its number: see [Fingerprint].
	Fingerprint string
	Config      *corev1.ConfigMap
	Headless    *corev1.Service
	StatefulSet *appsv1.StatefulSet

	defaulted defaulted
}

// Of renders a generation.
func Of(in Input) (Generation, error) {
	hash, err := Fingerprint(in)
	if err != nil {
		return Generation{}, err
	}
	text, err := yaml.Marshal(config(in))
	if err != nil {
		return Generation{}, fmt.Errorf("write config.yaml of engine %q: %w", in.Engine.Name, err)
	}
	set := statefulSet(in)
	set.Annotations[names.AnnotationRenderingHash] = hash
	return Generation{
		Fingerprint: hash,
		Config: &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{
				Name: names.Config(in.Engine.Name, in.Generation), Namespace: in.Engine.Namespace,
				Labels: names.GenerationLabels(in.Engine.Name, in.Generation),
			},
			Data: map[string]string{"config.yaml": string(text)},
		},
		Headless:    Headless(in.Engine.Namespace, in.Engine.Name, in.Generation),
		StatefulSet: set,
		defaulted:   defaultedFields(in.Engine.Template.Spec.Containers),
	}, nil
}

// config returns the content of config.yaml: the operator's values override the user's.
func config(in Input) map[string]any {
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
	operatorConfig := map[string]any{
		"schema_version": "1.0",
		"instance": map[string]any{
			"id": in.Instance.ID, "type": "multi_engine",
			"multi_engine": map[string]any{"metadata_endpoint": endpoint},
		},
		"engine": map[string]any{
			"id": in.Engine.Name, "nodes": nodes,
			"termination_grace_period": fmt.Sprintf("%ds", engineGraceSeconds),
		},
	}
	defaults := map[string]any{"logging": map[string]any{"format": "json"}}
	return resolve.Overlay(resolve.Overlay(defaults, in.Engine.Config), operatorConfig)
}
