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
