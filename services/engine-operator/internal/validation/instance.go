package validation

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

const isUnsupported = "is not supported by this release of the engine operator"

// InstanceAll runs all checks of an instance. Only the admission webhook checks spec.tls: a controller uses none of it, since
// [InstanceUnsupported] rejects enabled listeners.
func InstanceAll(i *v1alpha1.FireboltInstance) field.ErrorList {
	out := InstanceMetadata(i)
	out = append(out, InstanceGateway(i)...)
	out = append(out, InstanceTLS(i)...)
	return append(out, InstanceUnsupported(i)...)
}

// InstanceMetadata checks spec.metadata.
func InstanceMetadata(i *v1alpha1.FireboltInstance) field.ErrorList {
	at := field.NewPath("spec", "metadata")
	var out field.ErrorList
	if r := i.Spec.Metadata.Replicas; r != nil && *r != 1 {
		out = append(out, field.Invalid(at.Child("replicas"), *r, "must be absent or 1: the metadata service has one writer"))
	}
	if p := i.Spec.Metadata.Postgres; p != nil && p.CredentialsSecretRef.Name == "" {
		out = append(out, field.Required(at.Child("postgres", "credentialsSecretRef", "name"),
			"must name a Secret with the keys username and password"))
	}
	return append(out, metadataRules.template(at.Child("template"), i.Spec.Metadata.Template, protectedBy(i))...)
}

// gatewayPorts are the ports of the gateway's containers besides its metrics port.
var gatewayPorts = []int32{names.PortGateway, names.PortEnvoyAdmin}

// InstanceGateway checks spec.gateway.
func InstanceGateway(i *v1alpha1.FireboltInstance) field.ErrorList {
	at := field.NewPath("spec", "gateway")
	var out field.ErrorList
	if port := i.Spec.Gateway.MetricsPort; slices.Contains(gatewayPorts, port) {
		out = append(out, field.Invalid(at.Child("metricsPort"), port, "is a port that the gateway uses itself"))
	}
	return append(out, gatewayRules.template(at.Child("template"), i.Spec.Gateway.Template, protectedBy(i))...)
}

// InstanceUnsupported names the features of the instance that this release lacks.
func InstanceUnsupported(i *v1alpha1.FireboltInstance) field.ErrorList {
	spec := field.NewPath("spec")
	var out field.ErrorList
	if i.Spec.Auth != nil && i.Spec.Auth.Enabled {
		out = append(out, field.Forbidden(spec.Child("auth", "enabled"), isUnsupported))
	}
	for _, l := range listeners(i) {
		if l.Enabled {
			out = append(out, field.Forbidden(l.at.Child("enabled"), isUnsupported))
		}
	}
	return out
}

// listener is one of the two listeners for which TLS can be configured.
type listener struct {
	*v1alpha1.TLSListenerSpec
	at     *field.Path
	engine bool
}

func listeners(i *v1alpha1.FireboltInstance) []listener {
	if i.Spec.TLS == nil {
		return nil
	}
	at := field.NewPath("spec", "tls")
	all := []listener{{i.Spec.TLS.Gateway, at.Child("gateway"), false}, {i.Spec.TLS.Engine, at.Child("engine"), true}}
	return slices.DeleteFunc(all, func(l listener) bool { return l.TLSListenerSpec == nil })
}

// InstanceTLS checks combinations of fields of spec.tls that the schema does
// not check. The schema accepts only disabled listeners; the rules apply to them too, so that
// a manifest stays valid when the feature is released.
func InstanceTLS(i *v1alpha1.FireboltInstance) field.ErrorList {
	var out field.ErrorList
	for _, l := range listeners(i) {
		if l.engine && l.SecretRef != nil {
			out = append(out, field.Forbidden(l.at.Child("secretRef"), "cert-manager must issue the certificates of engines"))
		}
		out = append(out, l.clientCA()...)
		out = append(out, l.references(managedBy(i))...)
		out = append(out, keySize(l.at.Child("certManager", "size"), l.CertManager)...)
	}
	return distinct(out)
}

// keySize checks that the key's algorithm supports its size. The schema sets defaults for both.
func keySize(at *field.Path, c *v1alpha1.CertManagerSpec) field.ErrorList {
	if c == nil {
		return nil
	}
	algorithm, size := cmp.Or(c.Algorithm, "ECDSA"), cmp.Or(c.Size, 384)
	sizes := map[string][]int32{"RSA": {2048, 4096, 8192}, "ECDSA": {256, 384, 521}}[algorithm]
	if slices.Contains(sizes, size) {
		return nil
	}
	return field.ErrorList{field.Invalid(at, size, fmt.Sprintf("must be one of %v bits for %s keys", sizes, algorithm))}
}

// clientCA checks how a listener verifies clients.
func (l listener) clientCA() field.ErrorList {
	var out field.ErrorList
	for _, ref := range []struct {
		name string
		set  bool
	}{{"clientCASecretRef", l.ClientCASecretRef != nil}, {"crlSecretRef", l.CRLSecretRef != nil}} {
		switch {
		case !ref.set:
		case l.engine && ref.name == "clientCASecretRef":
			out = append(out, field.Forbidden(l.at.Child(ref.name), "the gateway must be the only client of engines"))
		case !l.Enabled:
			out = append(out, field.Forbidden(l.at.Child(ref.name), "requires an enabled listener"))
		case ref.name == "crlSecretRef" && !l.engine && l.ClientCASecretRef == nil:
			out = append(out, field.Forbidden(l.at.Child(ref.name), "requires clientCASecretRef"))
		}
	}
	return out
}

// references checks the Secrets that a listener names.
func (l listener) references(managed protected) field.ErrorList {
	var out field.ErrorList
	for _, ref := range []struct {
		name   string
		set    bool
		secret string
	}{
		{"secretRef", l.SecretRef != nil, refName(l.SecretRef)},
		{"clientCASecretRef", l.ClientCASecretRef != nil, refName(l.ClientCASecretRef)},
		{"crlSecretRef", l.CRLSecretRef != nil, refName(l.CRLSecretRef)},
	} {
		at := l.at.Child(ref.name, "name")
		switch {
		case ref.set && ref.secret == "":
			out = append(out, field.Required(at, "must name a Secret"))
		case ref.set && managed.holds(ref.secret):
			out = append(out, field.Forbidden(at, "must not name a Secret that the operator creates"))
		}
	}
	return out
}

// InstanceUpdate checks the immutability of fields that the schema's own
// rules do not check.
func InstanceUpdate(before, after *v1alpha1.FireboltInstance) field.ErrorList {
	var out field.ErrorList
	prev, cur := signing(before), signing(after)
	if prev != nil && cur != nil && prev.Size != 0 && prev.Size != cur.Size {
		at := field.NewPath("spec", "auth", "local", "signingKeys", "certManager", "size")
		out = append(out, field.Invalid(at, cur.Size, fmt.Sprintf("is immutable; it is %d", prev.Size)))
	}
	prev, cur = engineTLS(before), engineTLS(after)
	if prev != nil && cur != nil && prev.IssuerRef != cur.IssuerRef {
		at := field.NewPath("spec", "tls", "engine", "certManager", "issuerRef")
		detail := fmt.Sprintf("is immutable while the listener is enabled; it is %s %q", prev.IssuerRef.Kind, prev.IssuerRef.Name)
		out = append(out, field.Invalid(at, cur.IssuerRef.Kind+"/"+cur.IssuerRef.Name, detail))
	}
	return out
}

// signing returns the settings of signing keys, nil if the spec has none.
func signing(i *v1alpha1.FireboltInstance) *v1alpha1.CertManagerSpec {
	if i.Spec.Auth == nil || i.Spec.Auth.Local == nil || i.Spec.Auth.Local.SigningKeys == nil {
		return nil
	}
	return &i.Spec.Auth.Local.SigningKeys.CertManager
}

// engineTLS returns the settings of the engines' certificates, nil if they have none.
func engineTLS(i *v1alpha1.FireboltInstance) *v1alpha1.CertManagerSpec {
	if i.Spec.TLS == nil || i.Spec.TLS.Engine == nil || !i.Spec.TLS.Engine.Enabled {
		return nil
	}
	return i.Spec.TLS.Engine.CertManager
}
