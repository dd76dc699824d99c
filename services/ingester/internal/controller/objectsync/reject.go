package objectsync

import (
	"context"
	"errors"
	"reflect"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/kube/rejection"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/object"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/wire"
)

// reasonRejected is the event on an object that cannot be stored.
const reasonRejected = "StorageRejected"

// reject counts an object whose content cannot be stored, and emits an event with the cause.
func (r *Reconciler) reject(o *object.Object, err error) {
	r.config.Metrics.Rejected.WithLabelValues(r.config.Kind.Name, field(r.config.Kind, err)).Inc()
	r.events.Eventf(o, nil, "Warning", reasonRejected, "Store", "%s", err)
}

// reasonFinalizerRejected is the event on an object to which our finalizer cannot be added.
const reasonFinalizerRejected = "FinalizerRejected"

// rejectFinalizer counts an object to which our finalizer cannot be added, and emits an event with the
// cause, unless the error concerns all objects of the kind.
func (r *Reconciler) rejectFinalizer(ctx context.Context, o *object.Object, err error) {
	w := rejection.Write{Verb: "patch", Object: r.config.Kind.Metadata(o.Namespace, o.Name)}
	if !rejection.IsSpecific(ctx, r.permissions, w, err) {
		return
	}
	r.config.Metrics.Errors.WithLabelValues("kubernetes", "rejected").Inc()
	r.events.Eventf(o, nil, "Warning", reasonFinalizerRejected, "Adopt", "The API server rejects the finalizer: %s", err)
}

// Values of the label field when the cause is not a field of the kind.
const (
	otherField = "other"
	noField    = "unknown"
)

// field returns the rejected field as a label: the first two parts of its path, such as
// "spec.owner", if the kind has such a field. This bounds the values of the label, whatever
// objects contain.
func field(kind *registry.Kind, err error) string {
	var invalid *wire.FieldError
	if !errors.As(err, &invalid) {
		return noField
	}
	first, rest, _ := strings.Cut(invalid.Path, ".")
	second, _, _ := strings.Cut(rest, ".")
	second, _, _ = strings.Cut(second, "[")
	switch {
	case first == "metadata" && metadataFields[second]:
		return first + "." + second
	case first != "spec" && first != "status":
		return otherField
	}
	fields := kind.Message.Fields().ByName(protoreflect.Name(first)).Message().Fields()
	known := fields.ByJSONName(second)
	if known == nil {
		known = fields.ByName(protoreflect.Name(second))
	}
	if known == nil {
		return first + "." + otherField
	}
	return first + "." + known.JSONName()
}

// metadataFields are the JSON names of the fields of metadata.
var metadataFields = func() map[string]bool {
	names := map[string]bool{}
	for f := range reflect.TypeFor[metav1.ObjectMeta]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names[name] = true
	}
	return names
}()
