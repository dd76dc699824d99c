package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

// rules is embedded in the validators.
type rules struct {
	apiReader client.Reader
	bounds    validation.Bounds
	watched   []string
}

// foreign reports whether an object is outside the watched namespaces.
func foreign(watched []string, namespace string) bool {
	return len(watched) > 0 && !slices.Contains(watched, namespace)
}

// skips reports whether an update is accepted without validation: one that does not change
// the spec, and one of a terminating object.
func skips(obj metav1.Object, sameSpec bool) bool {
	return sameSpec || obj.GetDeletionTimestamp() != nil
}

// invalid combines all errors into one response: Invalid, which the user must fix, or
// InternalError if only a read failed and a retry may succeed. The text
// equals that of the controllers' condition; each path is also a cause.
func invalid(kind string, o client.Object, all field.ErrorList) error {
	if len(all) == 0 {
		return nil
	}
	for _, one := range all {
		if one.Type != field.ErrorTypeInternal {
			invalid := apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind(kind).GroupKind(), o.GetName(), all)
			invalid.ErrStatus.Message = fmt.Sprintf("%s %q is invalid: %s", kind, o.GetName(), validation.Message(all))
			return invalid
		}
	}
	return apierrors.NewInternalError(all.ToAggregate())
}

// get reads one object from the API server. exists is false when it does not exist.
func (r rules) get(ctx context.Context, namespace, name string, into client.Object, at *field.Path) (exists bool, failure *field.Error) {
	err := r.apiReader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, field.InternalError(at, fmt.Errorf("read %q: %w", name, err))
	default:
		return true, nil
	}
}

// joinFirst joins the first few names of a list.
func joinFirst(all []string) string {
	const most = 5
	if len(all) > most {
		return strings.Join(all[:most], ", ") + ", …"
	}
	return strings.Join(all, ", ")
}

// ignored returns warnings for fields without effect.
func ignored(fields field.ErrorList) admission.Warnings {
	if len(fields) == 0 {
		return nil
	}
	return admission.Warnings{validation.Message(fields)}
}
