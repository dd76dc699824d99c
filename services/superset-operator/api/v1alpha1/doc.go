// Package v1alpha1 is the API of the Superset operator: the Superset resource,
// its status, and the names of its conditions, reasons, labels and annotations.
//
// One Superset describes one installation of Apache Superset: an image, where
// its metadata database and cache are, which of six components run, and the
// lifecycle tasks (preflight, clone, migrate, rotate, init) that run before them.
// The API server validates what it can without I/O: defaults, enums and CEL rules
// are markers on these types.
//
// Names, defaults and rules follow the published API, so existing manifests keep
// working. Fields are added, never renamed.
//
// +kubebuilder:object:generate=true
// +groupName=superset.apache.org
package v1alpha1
