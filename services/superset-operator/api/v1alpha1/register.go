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
