// Package names returns the names and labels of all objects that the engine operator creates.
// The names are part of the API (specification 001, "Operator-managed resources"):
// users, dashboards and the gateway rely on them, so they never change.
package names

import (
	"fmt"
	"strconv"
	"strings"
)

// FieldManager is the field manager of everything that the operator applies.
const FieldManager = "firebolt-operator"

// Labels on all objects of an engine or an instance.
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
	// AnnotationAdopted is set on an adopted workload of an earlier operator: the hash of its
	// desired rendering. The first change of that rendering removes it, except from a database, which keeps its image.
	AnnotationAdopted = "firebolt.io/adopted-rendering"
	// AnnotationPodConfig rolls the metadata and gateway Deployments when their configuration changes.
	AnnotationPodConfig = "firebolt.io/config-hash"
)

// AnnotationInstanceID is set on the Secret of an instance's own database: the id that the
// data was written under. A recreated instance reuses it.
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
	// ContainerWakeAgent is a reserved name next to envoy.
	ContainerWakeAgent = "wake-agent"
)

// Generation returns the name of the StatefulSet of generation n, the prefix of its other names.
func Generation(engine string, n int64) string { return fmt.Sprintf("%s-g%d", engine, n) }

// Headless returns the name of the Service that gives the pods of a generation their DNS names.
func Headless(engine string, n int64) string { return Generation(engine, n) + "-hl" }

// Config returns the name of the ConfigMap of a generation.
func Config(engine string, n int64) string { return Generation(engine, n) + "-config" }

// Cluster returns the name of the Service that clients and the gateway use.
func Cluster(engine string) string { return engine + "-service" }

// EngineLabels returns the labels that select all objects of an engine.
func EngineLabels(engine string) map[string]string {
	return map[string]string{LabelEngine: engine}
}

// GenerationLabels returns the labels that select all objects of a generation.
func GenerationLabels(engine string, n int64) map[string]string {
	return map[string]string{LabelEngine: engine, LabelGeneration: strconv.FormatInt(n, 10)}
}

// MaxGeneration is the greatest generation number. At one rollout per second it lasts
// 68 years; this operator never allocates a greater number.
const MaxGeneration = 1<<31 - 1

// ParseGeneration returns the generation of labels or of a selector. It returns false
// for an absent, invalid or excessive number.
func ParseGeneration(labels map[string]string) (int64, bool) {
	return number(labels[LabelGeneration])
}

// GenerationOf returns the generation of an object's name, which unlike a label cannot
// be changed; of builds the names of its kind, for example [Headless].
func GenerationOf(name, engine string, of func(string, int64) string) (int64, bool) {
	suffix := strings.TrimPrefix(of(engine, 0), Generation(engine, 0))
	digits, ok := strings.CutPrefix(name, engine+"-g")
	if !ok {
		return 0, false
	}
	if digits, ok = strings.CutSuffix(digits, suffix); !ok {
		return 0, false
	}
	n, ok := number(digits)
	return n, ok && of(engine, n) == name
}

func number(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0 && n <= MaxGeneration
}

// ComponentLabels returns the labels that select one component of an instance.
func ComponentLabels(instance, component string) map[string]string {
	return map[string]string{LabelInstance: instance, LabelComponent: component}
}

// Metadata returns the name of the Deployment and the Service of an instance's metadata service.
func Metadata(instance string) string { return instance + "-metadata" }

// MetadataConfig returns the name of the metadata service's ConfigMap.
func MetadataConfig(instance string) string { return instance + "-metadata-config" }

// Postgres returns the name of the StatefulSet and the headless Service of the operator's own PostgreSQL.
func Postgres(instance string) string { return instance + "-metadata-pg" }

// PostgresClaim returns the name of the StatefulSet's volume claim, which outlives the instance.
func PostgresClaim(instance string) string { return "data-" + Postgres(instance) + "-0" }

// PostgresSecret returns the name of the Secret with the credentials of the operator's own PostgreSQL.
func PostgresSecret(instance string) string { return instance + "-metadata-postgres-creds" }

// Gateway returns the name of the Deployment, Service, ServiceAccount and disruption budget of an instance's gateway.
func Gateway(instance string) string { return instance + "-gateway" }

// GatewayConfig returns the name of the gateway's ConfigMap.
func GatewayConfig(instance string) string { return instance + "-gateway-config" }

// ServiceHost returns the DNS name of a Service.
func ServiceHost(service, namespace string) string {
	return service + "." + namespace + ".svc.cluster.local"
}
