package v1alpha1

import (
	networkingv1 "k8s.io/api/networking/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// NetworkingSpec exposes the Services by Gateway API or by Ingress.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.gateway) && has(self.ingress))",message="networking.gateway and ingress are mutually exclusive"
type NetworkingSpec struct {
	// +optional
	Gateway *GatewaySpec `json:"gateway,omitempty"`
	// +optional
	Ingress *IngressSpec `json:"ingress,omitempty"`
}

// GatewaySpec makes an HTTPRoute.
type GatewaySpec struct {
	GatewayRef gatewayv1.ParentReference `json:"gatewayRef"`
	// +optional
	Hostnames []gatewayv1.Hostname `json:"hostnames,omitempty"`
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
}

// IngressSpec makes an Ingress.
type IngressSpec struct {
	// +optional
	ClassName *string `json:"className,omitempty"`
	// Host is short for one entry of hosts.
	// +optional
	Host string `json:"host,omitempty"`
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// +optional
	Hosts []IngressHost `json:"hosts,omitempty"`
	// +optional
	TLS []networkingv1.IngressTLS `json:"tls,omitempty"`
}

// IngressHost is one host of an Ingress.
type IngressHost struct {
	Host string `json:"host"`
	// Paths all lead to the web server; without paths every routable component gets its own.
	// +optional
	Paths []IngressPath `json:"paths,omitempty"`
}

// IngressPath is one path of an Ingress host.
type IngressPath struct {
	// +kubebuilder:default="/"
	// +optional
	Path string `json:"path,omitempty"`
	// +kubebuilder:default=Prefix
	// +optional
	PathType *networkingv1.PathType `json:"pathType,omitempty"`
}

// MonitoringSpec adds monitoring objects.
type MonitoringSpec struct {
	// +optional
	ServiceMonitor *ServiceMonitorSpec `json:"serviceMonitor,omitempty"`
}

// ServiceMonitorSpec makes a ServiceMonitor for the web server.
type ServiceMonitorSpec struct {
	// +kubebuilder:default="30s"
	// +optional
	Interval *string `json:"interval,omitempty"`
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// +optional
	ScrapeTimeout *string `json:"scrapeTimeout,omitempty"`
}

// NetworkPolicySpec makes one NetworkPolicy per enabled component.
type NetworkPolicySpec struct {
	// +optional
	ExtraIngress []networkingv1.NetworkPolicyIngressRule `json:"extraIngress,omitempty"`
	// +optional
	ExtraEgress []networkingv1.NetworkPolicyEgressRule `json:"extraEgress,omitempty"`
}

// ServiceAccountSpec configures the account under which all pods run.
//
// +kubebuilder:validation:XValidation:rule="!has(self.create) || self.create || (has(self.name) && size(self.name) > 0)",message="serviceAccount.name is required when serviceAccount.create is false"
type ServiceAccountSpec struct {
	// Create is true when unset.
	// +optional
	Create *bool `json:"create,omitempty"`
	// Name is the Superset's when unset.
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}
