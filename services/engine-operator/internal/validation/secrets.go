package validation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// protected are the names of the Secrets that users' pods must not read: a user with permission to
// set a template could otherwise read credentials that only the operator's own
// containers may read (reference 2.7, "Secret aliasing").
type protected []string

// protectedBy returns the protected Secrets of an instance. It may be nil: the patterns apply without one.
func protectedBy(i *v1alpha1.FireboltInstance) protected {
	if i == nil {
		return nil
	}
	out := managedBy(i)
	if p := i.Spec.Metadata.Postgres; p != nil {
		out = append(out, p.CredentialsSecretRef.Name)
	}
	if a := i.Spec.Auth; a != nil && a.Local != nil {
		out = append(out, a.Local.Admin.Password.Name)
	}
	if i.Spec.TLS != nil {
		for _, l := range []*v1alpha1.TLSListenerSpec{i.Spec.TLS.Gateway, i.Spec.TLS.Engine} {
			if l != nil {
				out = append(out, refName(l.SecretRef), refName(l.ClientCASecretRef), refName(l.CRLSecretRef))
			}
		}
	}
	return slices.DeleteFunc(out, func(name string) bool { return name == "" })
}

// managedBy returns the Secrets that the operator creates for an instance.
func managedBy(i *v1alpha1.FireboltInstance) protected {
	return protected{names.PostgresSecret(i.Name), i.Name + "-engine-tls", i.Name + "-gateway-tls", i.Name + "-engine-ca-bundle"}
}

func (p protected) holds(secret string) bool {
	return slices.Contains(p, secret) || matches(protectedShapes, secret)
}

// environment checks the variables of any container.
func (p protected) environment(at *field.Path, c *corev1.Container) field.ErrorList {
	var out field.ErrorList
	for i, e := range c.Env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && p.holds(e.ValueFrom.SecretKeyRef.Name) {
			entryPath := entry(at.Child("env"), e.Name, i).Child("valueFrom", "secretKeyRef", "name")
			out = append(out, field.Forbidden(entryPath, isProtected))
		}
	}
	for i, e := range c.EnvFrom {
		if e.SecretRef != nil && p.holds(e.SecretRef.Name) {
			out = append(out, field.Forbidden(at.Child("envFrom").Index(i).Child("secretRef", "name"), isProtected))
		}
	}
	return out
}

// volume checks every kind of volume that can name a Secret.
func (p protected) volume(at *field.Path, v *corev1.VolumeSource) field.ErrorList {
	var out field.ErrorList
	for _, r := range secretsOf(v) {
		if p.holds(r.secret) {
			entryPath := at
			for _, step := range r.steps {
				entryPath = entryPath.Child(step)
			}
			out = append(out, field.Forbidden(entryPath, isProtected))
		}
	}
	if v.Projected != nil {
		for i, s := range v.Projected.Sources {
			if s.Secret != nil && p.holds(s.Secret.Name) {
				out = append(out, field.Forbidden(at.Child("projected", "sources").Index(i).Child("secret", "name"), isProtected))
			}
		}
	}
	return out
}

// reference is a Secret's name and its path.
type reference struct {
	secret string
	steps  []string
}

// secretsOf lists the Secrets that a volume names, except those of a projected one.
func secretsOf(v *corev1.VolumeSource) []reference {
	var out []reference
	local := func(ref *corev1.LocalObjectReference, kind, name string) {
		if ref != nil {
			out = append(out, reference{ref.Name, []string{kind, name, "name"}})
		}
	}
	if v.Secret != nil {
		out = append(out, reference{v.Secret.SecretName, []string{"secret", "secretName"}})
	}
	if v.AzureFile != nil {
		out = append(out, reference{v.AzureFile.SecretName, []string{"azureFile", "secretName"}})
	}
	if v.CSI != nil {
		local(v.CSI.NodePublishSecretRef, "csi", "nodePublishSecretRef")
	}
	if v.CephFS != nil {
		local(v.CephFS.SecretRef, "cephfs", "secretRef")
	}
	if v.Cinder != nil {
		local(v.Cinder.SecretRef, "cinder", "secretRef")
	}
	if v.FlexVolume != nil {
		local(v.FlexVolume.SecretRef, "flexVolume", "secretRef")
	}
	if v.ISCSI != nil {
		local(v.ISCSI.SecretRef, "iscsi", "secretRef")
	}
	if v.RBD != nil {
		local(v.RBD.SecretRef, "rbd", "secretRef")
	}
	if v.ScaleIO != nil {
		local(v.ScaleIO.SecretRef, "scaleIO", "secretRef")
	}
	if v.StorageOS != nil {
		local(v.StorageOS.SecretRef, "storageos", "secretRef")
	}
	return out
}

func refName(ref *corev1.LocalObjectReference) string {
	if ref == nil {
		return ""
	}
	return ref.Name
}
