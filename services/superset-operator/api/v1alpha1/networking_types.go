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
	// gateway creates an HTTPRoute that routes from a Gateway to the components.
	// +optional
	Gateway *GatewaySpec `json:"gateway,omitempty"`
	// ingress creates an Ingress that routes to the components. It requires webServer.
	// +optional
	Ingress *IngressSpec `json:"ingress,omitempty"`
}

// GatewaySpec configures an HTTPRoute. If the Gateway API is not installed, the route is created once it is.
type GatewaySpec struct {
	// gatewayRef references the Gateway that the route attaches to.
	GatewayRef gatewayv1.ParentReference `json:"gatewayRef"`
	// hostnames are the host names that the route matches. When empty, the route matches all host names of the
	// listener.
	// +optional
	Hostnames []gatewayv1.Hostname `json:"hostnames,omitempty"`
	// annotations are the annotations of the HTTPRoute.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// labels are the labels of the HTTPRoute. Labels of the operator cannot be overridden.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
}

// IngressSpec configures an Ingress.
//
// +kubebuilder:validation:XValidation:rule="(has(self.host) && size(self.host) > 0) || (has(self.hosts) && size(self.hosts) > 0)",message="networking.ingress requires host or hosts"
type IngressSpec struct {
	// className is the class of the Ingress. Defaults to the default class of the cluster.
	// +optional
	ClassName *string `json:"className,omitempty"`
	// host is the host name that routes to all components. It is short for one entry of hosts, and ignored if hosts is
	// set.
	// +optional
	Host string `json:"host,omitempty"`
	// annotations are the annotations of the Ingress, for example for its controller.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// labels are the labels of the Ingress. Labels of the operator cannot be overridden.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// hosts are the host names and their paths.
	// +optional
	Hosts []IngressHost `json:"hosts,omitempty"`
	// tls lists the certificates, as in an Ingress.
	// +optional
	TLS []networkingv1.IngressTLS `json:"tls,omitempty"`
}

// IngressHost is one host of an Ingress.
type IngressHost struct {
	// host is the host name.
	Host string `json:"host"`
	// paths are the paths that route to the web server. When empty, the host routes to every component that has a
	// Service, each under its own path.
	// +optional
	Paths []IngressPath `json:"paths,omitempty"`
}

// IngressPath is one path of an Ingress host.
type IngressPath struct {
	// path is the path of the request URL.
	// +kubebuilder:default="/"
	// +optional
	Path string `json:"path,omitempty"`
	// pathType defines how the path is matched: Prefix, Exact or ImplementationSpecific.
	// +kubebuilder:default=Prefix
	// +optional
	PathType *networkingv1.PathType `json:"pathType,omitempty"`
}

// MonitoringSpec adds monitoring objects.
type MonitoringSpec struct {
	// serviceMonitor creates a ServiceMonitor for the web server. It requires webServer.
	// +optional
	ServiceMonitor *ServiceMonitorSpec `json:"serviceMonitor,omitempty"`
}

// ServiceMonitorSpec configures a ServiceMonitor for the web server. Superset does not serve metrics by itself: the
// image or spec.config must add an exporter. If the Prometheus operator is not installed, the ServiceMonitor is
// created once it is.
type ServiceMonitorSpec struct {
	// interval is the scrape interval, for example 30s.
	// +kubebuilder:default="30s"
	// +optional
	Interval *string `json:"interval,omitempty"`
	// labels are the labels of the ServiceMonitor, by which a Prometheus selects it. Labels of the operator cannot be
	// overridden.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// scrapeTimeout is the timeout of a scrape, for example 10s. Defaults to that of Prometheus.
	// +optional
	ScrapeTimeout *string `json:"scrapeTimeout,omitempty"`
	// path is the path under which the web server serves metrics. Defaults to /metrics, the default of Prometheus.
	// +kubebuilder:validation:Pattern=`^/`
	// +optional
	Path *string `json:"path,omitempty"`
}

// NetworkPolicySpec creates one NetworkPolicy for each enabled component. Pods of the same Superset reach each other,
// and any source reaches the port of a component that has a Service; egress is not limited.
type NetworkPolicySpec struct {
	// extraIngress are additional ingress rules for all components.
	// +optional
	ExtraIngress []networkingv1.NetworkPolicyIngressRule `json:"extraIngress,omitempty"`
	// extraEgress are additional egress rules for all components.
	// +optional
	ExtraEgress []networkingv1.NetworkPolicyEgressRule `json:"extraEgress,omitempty"`
}

// ServiceAccountSpec configures the ServiceAccount of all pods.
//
// +kubebuilder:validation:XValidation:rule="!has(self.create) || self.create || (has(self.name) && size(self.name) > 0)",message="serviceAccount.name is required when serviceAccount.create is false"
type ServiceAccountSpec struct {
	// create is true if the operator creates the ServiceAccount. Defaults to true. If false, name must be that of an
	// existing ServiceAccount.
	// +optional
	Create *bool `json:"create,omitempty"`
	// name is the name of the ServiceAccount. Defaults to the name of the Superset.
	// +optional
	Name string `json:"name,omitempty"`
	// annotations are the annotations of the ServiceAccount that the operator creates, for example for cloud workload
	// identity.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}
