package render

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

type probes struct{ liveness, readiness, startup *corev1.Probe }

// componentProbes are the user's, and where the user has none the component's own at the resolved port.
func componentProbes(c *resolve.Component) probes {
	own, t := defaultProbes(c), c.Pod.Container
	return probes{
		liveness:  either(t.LivenessProbe, own.liveness),
		readiness: either(t.ReadinessProbe, own.readiness),
		startup:   either(t.StartupProbe, own.startup),
	}
}

// defaultProbes has none for the worker and the scheduler, which answer no requests.
func defaultProbes(c *resolve.Component) probes {
	port := intstr.FromInt32(c.Port())
	var handler corev1.ProbeHandler
	switch c.Descriptor.Name {
	case component.WebServerName:
		handler = httpGet("/health", port)
		return probes{probe(handler, 15), probe(handler, 5), probe(handler, 15)}
	case component.WebsocketServerName:
		handler = httpGet("/health", port)
	case component.CeleryFlowerName:
		handler = httpGet(strings.TrimRight(c.Path, "/")+"/healthcheck", port)
	case component.MCPServerName:
		handler = corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: port}}
	default:
		return probes{}
	}
	return probes{liveness: probe(handler, 15), readiness: probe(handler, 5)}
}

func httpGet(path string, port intstr.IntOrString) corev1.ProbeHandler {
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: port, Scheme: corev1.URISchemeHTTP}}
}

// probe asks every ten seconds, the first time after delay seconds.
func probe(handler corev1.ProbeHandler, delay int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:        *handler.DeepCopy(),
		InitialDelaySeconds: delay, PeriodSeconds: 10, TimeoutSeconds: 5, FailureThreshold: 3,
	}
}

func either(user, own *corev1.Probe) *corev1.Probe {
	if user != nil {
		return user
	}
	return own
}
