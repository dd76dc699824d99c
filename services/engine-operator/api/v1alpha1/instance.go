package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ScrapeMode defines how metrics are scraped from engine pods.
// +kubebuilder:validation:Enum=PodIP;ApiserverProxy
type ScrapeMode string

// Scrape modes.
const (
	ScrapePodIP          ScrapeMode = "PodIP"
	ScrapeAPIServerProxy ScrapeMode = "ApiserverProxy"
)

// FireboltInstanceSpec is the desired state of an instance.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.id) || size(oldSelf.id) == 0 || (has(self.id) && self.id == oldSelf.id)",message="spec.id is immutable once it is set"
type FireboltInstanceSpec struct {
	// id is the ULID that identifies the instance to engines and metadata. The operator generates one if it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ID string `json:"id,omitempty"`
	// metadataNG selects an experimental variant of the metadata service's configuration.
	// +optional
	// +kubebuilder:default=false
	MetadataNG bool `json:"metadataNG,omitempty"`
	// metadata configures the service that holds the catalog.
	// +required
	Metadata MetadataSpec `json:"metadata"`
	// gateway configures the entry point for queries.
	// +required
	Gateway GatewaySpec `json:"gateway"`
	// metricScrapeMode defines how metrics are scraped from engine pods.
	// +optional
	// +kubebuilder:default=PodIP
	MetricScrapeMode ScrapeMode `json:"metricScrapeMode,omitempty"`
	// auth configures authentication.
	// +optional
	Auth *AuthSpec `json:"auth,omitempty"`
	// tls configures encryption.
	// +optional
	TLS *TLSSpec `json:"tls,omitempty"`
}

// MetadataSpec configures the metadata service. It has a single writer, so it has one replica.
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas == 1",message="spec.metadata.replicas must be absent or 1"
type MetadataSpec struct {
	// replicas is absent or 1.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// template overrides parts of the pod template.
	// +optional
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`
	// engineRegistration is accepted and has no effect.
	// +optional
	// +kubebuilder:default=false
	EngineRegistration bool `json:"engineRegistration,omitempty"`
	// postgres is the external database. When unset, the operator runs one.
	// +optional
	Postgres *PostgresSpec `json:"postgres,omitempty"`
}

// PostgresSpec is the connection to an external PostgreSQL.
type PostgresSpec struct {
	// host is the host name or address of the server.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9.\-:\[\]]+$`
	Host string `json:"host"`
	// port is the port of the server.
	// +optional
	// +kubebuilder:default=5432
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// database is the name of the database.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.\-]+$`
	Database string `json:"database"`
	// schema is the schema within the database.
	// +optional
	// +kubebuilder:default=public
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.\-]+$`
	Schema string `json:"schema,omitempty"`
	// credentialsSecretRef references a Secret with the keys username and password.
	// +required
	CredentialsSecretRef corev1.LocalObjectReference `json:"credentialsSecretRef"`
}

// GatewaySpec configures the entry point for queries.
type GatewaySpec struct {
	// replicas is the number of gateway pods. Defaults to 2.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`
	// metricsPort is the port of the gateway's metrics.
	// +optional
	// +kubebuilder:default=9090
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	MetricsPort int32 `json:"metricsPort,omitempty"`
	// template overrides parts of the pod template.
	// +optional
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`
}

// FireboltInstance is what a set of engines shares: identity, metadata and entry point.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=fire
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Gateway",type=boolean,JSONPath=`.status.gatewayReady`
// +kubebuilder:printcolumn:name="Metadata",type=boolean,JSONPath=`.status.metadataReady`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Degraded",type=string,JSONPath=`.status.conditions[?(@.type=="Degraded")].status`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.deployedVersion`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (size(self.metadata.name) <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$'))",optionalOldSelf=true,message="metadata.name must be a DNS label of at most 40 characters that begins with a letter: the names and labels of the instance's Services and pods are made from it"
type FireboltInstance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +required
	Spec FireboltInstanceSpec `json:"spec"`
	// status is the observed state.
	// +optional
	Status FireboltInstanceStatus `json:"status,omitempty"`
}

// FireboltInstanceList is a list of instances.
//
// +kubebuilder:object:root=true
type FireboltInstanceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FireboltInstance `json:"items"`
}
