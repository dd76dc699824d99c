// Package v1alpha1 is the API of Firebolt engines: FireboltInstance (the metadata
// service that engines share), FireboltEngine (a cluster of query nodes, replaced
// as a whole from one generation to the next) and FireboltEngineClass (a pod
// template that many engines share).
//
// Fields, defaults and validation are those of specification 001 and must stay: manifests
// written for an earlier operator are accepted unchanged. Fields are added, never
// renamed. The schema validates everything that does not depend on another object,
// with a message that names the field.
//
// Two owners share a status. The engine operator owns phase, generations and the
// conditions Ready and InstanceReady (and the component conditions of an instance);
// the six common conditions (Available, Progressing, Degraded, Upgradable, Paused,
// Stopped) belong to the field manager flotilla-conditions.
//
// +kubebuilder:object:generate=true
// +groupName=compute.firebolt.io
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "compute.firebolt.io", Version: "v1alpha1"}

var schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme registers the kinds of this package.
var AddToScheme = schemeBuilder.AddToScheme

func addKnownTypes(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&FireboltEngine{}, &FireboltEngineList{},
		&FireboltEngineClass{}, &FireboltEngineClassList{},
		&FireboltInstance{}, &FireboltInstanceList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
