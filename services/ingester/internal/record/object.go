package record

import (
	"fmt"
	"strconv"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/index"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/object"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/wire"
)

// FromObject builds the record of an object as the API server sent it. It equals the record that
// Build builds from the object's tree, except that the JSON is unchanged.
func (b *Builder) FromObject(o *object.Object, state State) (*Record, error) {
	gvk := o.GroupVersionKind()
	kind, ok := b.registry.Lookup(gvk.Kind)
	if !ok || gvk.Group != kind.GVK().Group {
		return nil, fmt.Errorf("kind %q of group %q is not registered", gvk.Kind, gvk.Group)
	}
	if key := o.Unknown(); key != "" {
		return nil, wire.Within(key, wire.Invalid("unknown field"))
	}
	meta, err := wire.Metadata(o.Metadata())
	if err != nil {
		return nil, err
	}
	r := &Record{
		Kind: kind, State: state,
		UID: string(meta.UID), GroupVersion: o.APIVersion, Namespace: meta.Namespace, Name: meta.Name,
		Generation: meta.Generation, CreateTime: meta.CreationTimestamp.UTC(),
		Labels: meta.Labels, Annotations: meta.Annotations,
		JSON: string(o.JSON),
	}
	if r.ResVersion, err = strconv.ParseInt(meta.ResourceVersion, 10, 64); err != nil {
		return nil, wire.Within("metadata.resourceVersion", wire.Invalid("%q is not a comparable version", meta.ResourceVersion))
	}
	parts := &wire.Parts{TypeMeta: o.TypeMeta, Metadata: meta}
	if err := b.fillFrom(r, o, parts); err != nil {
		return nil, err
	}
	return r, checkMetadata(r)
}

func (b *Builder) fillFrom(r *Record, o *object.Object, parts *wire.Parts) error {
	var err error
	if parts.Spec, err = wire.Tree(o.Spec()); err != nil {
		return wire.Within("spec", err)
	}
	if parts.Status, err = wire.Tree(o.Status()); err != nil {
		return wire.Within("status", err)
	}
	if r.Proto, err = b.encoders[r.Kind.Name].EncodeParts(parts); err != nil {
		return err
	}
	whole := map[string]any{"spec": parts.Spec, "status": parts.Status}
	if b.metadata[r.Kind.Name] {
		if whole["metadata"], err = wire.Tree(o.Metadata()); err != nil {
			return wire.Within("metadata", err)
		}
	}
	r.Indexed, err = index.Values(r.Kind, whole)
	return err
}
