package platform

import "k8s.io/apimachinery/pkg/runtime/schema"

// Kinds that several scenarios read.
var (
	Deployments  = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	Engines      = schema.GroupVersionKind{Group: "compute.firebolt.io", Version: "v1alpha1", Kind: "FireboltEngine"}
	Instances    = schema.GroupVersionKind{Group: "compute.firebolt.io", Version: "v1alpha1", Kind: "FireboltInstance"}
	StatefulSets = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	Services     = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	ConfigMaps   = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	Supersets    = schema.GroupVersionKind{Group: "superset.apache.org", Version: "v1alpha1", Kind: "Superset"}
	Leases       = schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}
	Jobs         = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
)
