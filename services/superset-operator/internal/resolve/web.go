package resolve

import (
	"fmt"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

// Web holds how users reach Superset; the zero value without a web server.
type Web struct {
	// InternalURL is where workers reach the web server, ExternalURL where users do; empty if not known.
	InternalURL, ExternalURL string
	// Proxied reports whether requests come through an Ingress or a Gateway, Secure whether these are known to terminate TLS.
	Proxied, Secure bool
}

func web(sup *v1alpha1.Superset) Web {
	spec := &sup.Spec
	if spec.WebServer == nil {
		return Web{}
	}
	port := int32(8088)
	if s := spec.WebServer.Service; s != nil && s.Port != nil {
		port = *s.Port
	}
	w := Web{InternalURL: fmt.Sprintf("http://%s:%d/", names.Component(sup.Name, component.WebServerName), port)}
	n := orZero(spec.Networking)
	w.Proxied = n.Gateway != nil || n.Ingress != nil
	host := ""
	switch {
	case n.Ingress != nil:
		host, w.Secure = n.Ingress.Host, len(n.Ingress.TLS) > 0
		if len(n.Ingress.Hosts) > 0 {
			host = n.Ingress.Hosts[0].Host
		}
	case n.Gateway != nil && len(n.Gateway.Hostnames) > 0:
		host = string(n.Gateway.Hostnames[0])
	}
	// The Gateway, which may be foreign, defines whether it terminates TLS; links without TLS would be redirected.
	if host != "" && host[0] != '*' {
		scheme := "http"
		if w.Secure || n.Gateway != nil {
			scheme = "https"
		}
		w.ExternalURL = scheme + "://" + host + "/"
	}
	return w
}
