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

// InstanceAll checks everything about an instance.
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

// gatewayPorts are those of the gateway's containers besides its metrics port.
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

// listener is one of the two that TLS can be configured for.
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

// InstanceTLS checks how the fields of spec.tls go together, as far as the schema does
// not. Only listeners that are off pass the schema; the rules hold for them too, so that
// a manifest need not change when the feature comes.
func InstanceTLS(i *v1alpha1.FireboltInstance) field.ErrorList {
	var out field.ErrorList
	for _, l := range listeners(i) {
		if l.engine && l.SecretRef != nil {
			out = append(out, field.Forbidden(l.at.Child("secretRef"), "the certificates of engines come from cert-manager alone"))
		}
		out = append(out, l.clientTrust()...)
		out = append(out, l.references(managedBy(i))...)
		out = append(out, keySize(l.at.Child("certManager", "size"), l.CertManager)...)
	}
	return distinct(out)
}

// keySize checks that the key's size is one of its algorithm. The schema fills both in.
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

// clientTrust checks how a listener verifies clients.
func (l listener) clientTrust() field.ErrorList {
	var out field.ErrorList
	for _, ref := range []struct {
		name string
		set  bool
	}{{"clientCASecretRef", l.ClientCASecretRef != nil}, {"crlSecretRef", l.CRLSecretRef != nil}} {
		switch {
		case !ref.set:
		case l.engine && ref.name == "clientCASecretRef":
			out = append(out, field.Forbidden(l.at.Child(ref.name), "clients of engines are the gateway alone"))
		case !l.Enabled:
			out = append(out, field.Forbidden(l.at.Child(ref.name), "has no meaning while the listener is not enabled"))
		case ref.name == "crlSecretRef" && !l.engine && l.ClientCASecretRef == nil:
			out = append(out, field.Forbidden(l.at.Child(ref.name), "needs clientCASecretRef"))
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
			out = append(out, field.Forbidden(at, "names a Secret that the operator makes itself"))
		}
	}
	return out
}

// InstanceUpdate checks what must not change once it is set, as far as the schema's own
// rules do not hold it.
func InstanceUpdate(before, after *v1alpha1.FireboltInstance) field.ErrorList {
	var out field.ErrorList
	was, is := signing(before), signing(after)
	if was != nil && is != nil && was.Size != 0 && was.Size != is.Size {
		at := field.NewPath("spec", "auth", "local", "signingKeys", "certManager", "size")
		out = append(out, field.Invalid(at, is.Size, fmt.Sprintf("is immutable; it is %d", was.Size)))
	}
	was, is = engineTLS(before), engineTLS(after)
	if was != nil && is != nil && was.IssuerRef != is.IssuerRef {
		at := field.NewPath("spec", "tls", "engine", "certManager", "issuerRef")
		detail := fmt.Sprintf("is immutable while the listener is enabled; it is %s %q", was.IssuerRef.Kind, was.IssuerRef.Name)
		out = append(out, field.Invalid(at, is.IssuerRef.Kind+"/"+is.IssuerRef.Name, detail))
	}
	return out
}

// signing is how signing keys are made, nil when the spec does not say.
func signing(i *v1alpha1.FireboltInstance) *v1alpha1.CertManagerSpec {
	if i.Spec.Auth == nil || i.Spec.Auth.Local == nil || i.Spec.Auth.Local.SigningKeys == nil {
		return nil
	}
	return &i.Spec.Auth.Local.SigningKeys.CertManager
}

// engineTLS is how the certificates of engines are made, nil while they have none.
func engineTLS(i *v1alpha1.FireboltInstance) *v1alpha1.CertManagerSpec {
	if i.Spec.TLS == nil || i.Spec.TLS.Engine == nil || !i.Spec.TLS.Engine.Enabled {
		return nil
	}
	return i.Spec.TLS.Engine.CertManager
}
