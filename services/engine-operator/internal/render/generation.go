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

// The end of an engine pod. First it serves on for endpointSeconds, until the gateway, which asks the DNS each second, has
// taken its address out. Then the engine gets SIGTERM and has engineGraceSeconds for its queries.
const (
	// GracePeriodSeconds is how long a pod of an engine may take to end.
	GracePeriodSeconds = 60
	endpointSeconds    = 5
	engineGraceSeconds = GracePeriodSeconds - endpointSeconds - 5
	// frozenGraceSeconds is how long an engine that fails its liveness probe may take: it does nothing any more, and its
	// queries hang until its process is gone.
	frozenGraceSeconds = 5
)

// Instance is what an engine needs to know of its instance.
type Instance struct {
	ID       string
	Endpoint string // host:port of the metadata service
}

// Images are the images of containers that users may leave to the operator.
type Images struct {
	Engine, Web, Metadata, Postgres, Gateway string
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
	// Fingerprint names the rendering, whatever its number: see [Fingerprint].
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
		defaulted:   leftToUs(in.Engine.Template.Spec.Containers),
	}, nil
}

// config is what config.yaml says: the user's part below the operator's.
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
	ours := map[string]any{
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
	return resolve.Overlay(resolve.Overlay(defaults, in.Engine.Config), ours)
}
