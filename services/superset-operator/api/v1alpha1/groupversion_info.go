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

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of this API.
var GroupVersion = schema.GroupVersion{Group: "superset.apache.org", Version: "v1alpha1"}

// Kind is the kind of the Superset resource.
const Kind = "Superset"

// AddToScheme registers the types of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Superset{}, &SupersetList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
