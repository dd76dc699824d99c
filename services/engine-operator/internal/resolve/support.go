package resolve

import (
	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// The schema refuses what this release does not support. Objects that an earlier
// operator left behind may ask for it all the same: they are shown as NotSupported and
// left as they are, since running them without the feature would change what users get.

// UnsupportedEngine names the field of the engine or its class that asks for an
// unsupported feature; empty when there is none.
func UnsupportedEngine(e *v1.FireboltEngine, class *v1.FireboltEngineClass) string {
	auto, owner := e.Spec.AutoStop, "spec.autoStop.enabled"
	if auto == nil && class != nil {
		auto, owner = class.Spec.AutoStop, "spec.autoStop.enabled of class "+class.Name
	}
	if auto != nil && auto.Enabled {
		return owner
	}
	return ""
}

// UnsupportedInstance is [UnsupportedEngine] for an instance.
func UnsupportedInstance(i *v1.FireboltInstance) string {
	switch {
	case i.Spec.Auth != nil && i.Spec.Auth.Enabled:
		return "spec.auth.enabled"
	case i.Spec.TLS != nil && i.Spec.TLS.Gateway != nil && i.Spec.TLS.Gateway.Enabled:
		return "spec.tls.gateway.enabled"
	case i.Spec.TLS != nil && i.Spec.TLS.Engine != nil && i.Spec.TLS.Engine.Enabled:
		return "spec.tls.engine.enabled"
	}
	return ""
}
