// Package names returns the names and labels of everything that the engine operator creates.
// The names are part of the API (seed 001, "Operator-managed resources"):
// users, dashboards and the gateway rely on them, so they never change.
package names

import (
	"fmt"
	"strconv"
	"strings"
)

// FieldManager owns what the operator applies.
const FieldManager = "firebolt-operator"

// Labels on everything that belongs to an engine or an instance.
const (
	LabelEngine     = "firebolt.io/engine"
	LabelGeneration = "firebolt.io/generation"
	LabelInstance   = "firebolt.io/instance"
	LabelComponent  = "firebolt.io/component"
)

// Annotations on a generation's StatefulSet. Each is absent when it has no input.
const (
	AnnotationConfigHash    = "firebolt.io/custom-engine-config-hash"
	AnnotationClassHash     = "firebolt.io/engine-class-hash"
	AnnotationOverride      = "firebolt.io/metadata-override"
	AnnotationRenderingHash = "firebolt.io/rendering-hash"
	// AnnotationAdopted is on an adopted workload of an earlier operator: the fingerprint of its
	// desired rendering. The first change of that rendering removes it.
	AnnotationAdopted = "firebolt.io/adopted-rendering"
	// AnnotationPodConfig rolls the metadata and gateway Deployments when their configuration changes.
	AnnotationPodConfig = "firebolt.io/config-hash"
)

// AnnotationInstanceID is on the Secret of an instance's own database: the id that the
// data was written under. An instance that is made again takes it up.
const AnnotationInstanceID = "firebolt.io/instance-id"

// Ports of an engine, of the metadata service and of PostgreSQL.
const (
	PortQuery    = 3473
	PortHealth   = 8122
	PortMetrics  = 9090
	PortWeb      = 9100
	PortMetadata = 7000
	PortPostgres = 5432
)

// Ports of a gateway: its container, its Service, and Envoy's own interface on loopback.
const (
	PortGateway        = 8080
	PortGatewayService = 80
	PortEnvoyAdmin     = 9901
)

// Containers.
const (
	ContainerEngine   = "engine"
	ContainerWeb      = "engine-web"
	ContainerMetadata = "metadata"
	ContainerPostgres = "postgresql"
	ContainerEnvoy    = "envoy"
	// ContainerWakeAgent is reserved next to envoy.
	ContainerWakeAgent = "wake-agent"
)

// Generation is the StatefulSet of generation n of an engine, and the stem of the rest.
func Generation(engine string, n int64) string { return fmt.Sprintf("%s-g%d", engine, n) }

// Headless is the Service that gives the pods of a generation their DNS names.
func Headless(engine string, n int64) string { return Generation(engine, n) + "-hl" }

// Config is the ConfigMap of a generation.
func Config(engine string, n int64) string { return Generation(engine, n) + "-config" }

// Cluster is the Service that clients and the gateway use.
func Cluster(engine string) string { return engine + "-service" }

// EngineLabels select everything of one engine.
func EngineLabels(engine string) map[string]string {
	return map[string]string{LabelEngine: engine}
}

// GenerationLabels select everything of one generation.
func GenerationLabels(engine string, n int64) map[string]string {
	return map[string]string{LabelEngine: engine, LabelGeneration: strconv.FormatInt(n, 10)}
}

// MaxGeneration is the greatest number that a generation may have. One rollout a second
// takes 68 years to reach it; a greater number was not given out by this operator.
const MaxGeneration = 1<<31 - 1

// ParseGeneration reads the generation out of labels or of a selector. It returns false
// for an absent, unreadable or excessive number.
func ParseGeneration(labels map[string]string) (int64, bool) {
	return number(labels[LabelGeneration])
}

// GenerationOf reads the generation out of an object's name, which unlike a label cannot
// be changed; of is what builds names of its kind, for example [Headless].
func GenerationOf(name, engine string, of func(string, int64) string) (int64, bool) {
	start, end, _ := strings.Cut(of(engine, 0), engine+"-g0")
	digits, ok := strings.CutPrefix(name, start+engine+"-g")
	if !ok {
		return 0, false
	}
	if digits, ok = strings.CutSuffix(digits, end); !ok {
		return 0, false
	}
	n, ok := number(digits)
	return n, ok && of(engine, n) == name
}

func number(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0 && n <= MaxGeneration
}

// ComponentLabels select one component of an instance.
func ComponentLabels(instance, component string) map[string]string {
	return map[string]string{LabelInstance: instance, LabelComponent: component}
}

// Metadata is the Deployment and the Service of an instance's metadata service.
func Metadata(instance string) string { return instance + "-metadata" }

// MetadataConfig is its ConfigMap.
func MetadataConfig(instance string) string { return instance + "-metadata-config" }

// Postgres is the StatefulSet and the headless Service of the operator's own PostgreSQL.
func Postgres(instance string) string { return instance + "-metadata-pg" }

// PostgresClaim is the volume claim that the StatefulSet makes; it outlives the instance.
func PostgresClaim(instance string) string { return "data-" + Postgres(instance) + "-0" }

// PostgresSecret holds its credentials.
func PostgresSecret(instance string) string { return instance + "-metadata-postgres-creds" }

// Gateway is the Deployment, Service, ServiceAccount and disruption budget of an instance's gateway.
func Gateway(instance string) string { return instance + "-gateway" }

// GatewayConfig is its ConfigMap.
func GatewayConfig(instance string) string { return instance + "-gateway-config" }

// ServiceHost is the DNS name of a Service.
func ServiceHost(service, namespace string) string {
	return service + "." + namespace + ".svc.cluster.local"
}
