package v1alpha1

import (
	networkingv1 "k8s.io/api/networking/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// NetworkingSpec exposes the components' Services by Gateway API or by Ingress, not both. The web server is reached
// under /, the websocket server under /ws, the MCP server under /mcp and Flower under /flower; service.gatewayPath
// changes the last three.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.gateway) && has(self.ingress))",message="networking.gateway and ingress are mutually exclusive"
type NetworkingSpec struct {
	// Makes an HTTPRoute that leads to the components through a Gateway.
	// +optional
	Gateway *GatewaySpec `json:"gateway,omitempty"`
	// Makes an Ingress that leads to the components. Requires webServer.
	// +optional
	Ingress *IngressSpec `json:"ingress,omitempty"`
}

// GatewaySpec makes an HTTPRoute. A cluster without the Gateway API gets none until the API is installed.
type GatewaySpec struct {
	// Gateway that the route belongs to.
	GatewayRef gatewayv1.ParentReference `json:"gatewayRef"`
	// Host names that the route answers to; all of the Gateway's listener when empty.
	// +optional
	Hostnames []gatewayv1.Hostname `json:"hostnames,omitempty"`
	// Annotations of the HTTPRoute.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// Labels of the HTTPRoute. The operator's own cannot be overridden.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
}

// IngressSpec makes an Ingress.
//
// +kubebuilder:validation:XValidation:rule="(has(self.host) && size(self.host) > 0) || (has(self.hosts) && size(self.hosts) > 0)",message="networking.ingress requires host or hosts"
type IngressSpec struct {
	// Class of the Ingress; the cluster's default class when unset.
	// +optional
	ClassName *string `json:"className,omitempty"`
	// Host name that leads to all components. Short for one entry of hosts, and ignored beside hosts.
	// +optional
	Host string `json:"host,omitempty"`
	// Annotations of the Ingress, for example for its controller.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// Labels of the Ingress. The operator's own cannot be overridden.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Host names with their paths.
	// +optional
	Hosts []IngressHost `json:"hosts,omitempty"`
	// Certificates, as in an Ingress.
	// +optional
	TLS []networkingv1.IngressTLS `json:"tls,omitempty"`
}

// IngressHost is one host of an Ingress.
type IngressHost struct {
	// Host name.
	Host string `json:"host"`
	// Paths that all lead to the web server. Without any, the host leads to every component that has a Service, each
	// under its own path.
	// +optional
	Paths []IngressPath `json:"paths,omitempty"`
}

// IngressPath is one path of an Ingress host.
type IngressPath struct {
	// Path of the request's URL.
	// +kubebuilder:default="/"
	// +optional
	Path string `json:"path,omitempty"`
	// How the path is compared: Prefix, Exact or ImplementationSpecific.
	// +kubebuilder:default=Prefix
	// +optional
	PathType *networkingv1.PathType `json:"pathType,omitempty"`
}

// MonitoringSpec adds monitoring objects.
type MonitoringSpec struct {
	// Makes a ServiceMonitor for the web server. Requires webServer.
	// +optional
	ServiceMonitor *ServiceMonitorSpec `json:"serviceMonitor,omitempty"`
}

// ServiceMonitorSpec makes a ServiceMonitor for the web server. Superset serves no metrics by itself: the image or
// spec.config has to add an exporter. A cluster without the Prometheus operator gets none until it is installed.
type ServiceMonitorSpec struct {
	// How often Prometheus asks, for example 30s.
	// +kubebuilder:default="30s"
	// +optional
	Interval *string `json:"interval,omitempty"`
	// Labels of the ServiceMonitor, by which a Prometheus selects it. The operator's own cannot be overridden.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// How long Prometheus waits for an answer, for example 10s; Prometheus' own default when unset.
	// +optional
	ScrapeTimeout *string `json:"scrapeTimeout,omitempty"`
	// Path under which the web server serves metrics; /metrics when unset, which is the default of Prometheus.
	// +kubebuilder:validation:Pattern=`^/`
	// +optional
	Path *string `json:"path,omitempty"`
}

// NetworkPolicySpec makes one NetworkPolicy for each enabled component. Pods of the same Superset reach each other, and
// everybody reaches the port of a component that has a Service; outgoing traffic is not limited.
type NetworkPolicySpec struct {
	// Further rules for incoming traffic, for all components.
	// +optional
	ExtraIngress []networkingv1.NetworkPolicyIngressRule `json:"extraIngress,omitempty"`
	// Further rules for outgoing traffic, for all components.
	// +optional
	ExtraEgress []networkingv1.NetworkPolicyEgressRule `json:"extraEgress,omitempty"`
}

// ServiceAccountSpec configures the ServiceAccount under which all pods run.
//
// +kubebuilder:validation:XValidation:rule="!has(self.create) || self.create || (has(self.name) && size(self.name) > 0)",message="serviceAccount.name is required when serviceAccount.create is false"
type ServiceAccountSpec struct {
	// Makes the account; true when unset. With false, name has to be that of an account that exists.
	// +optional
	Create *bool `json:"create,omitempty"`
	// Name of the account; the Superset's name when unset.
	// +optional
	Name string `json:"name,omitempty"`
	// Annotations of the account that the operator makes, for example for a cloud's workload identity.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}
