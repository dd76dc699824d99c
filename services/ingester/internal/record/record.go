package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/index"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/wire"
)

// State is the desired state of the row after the write.
type State int

// States of a row.
const (
	Live      State = iota // the object is in the cluster, as far as a cache shows
	Closed                 // deleted: the row keeps the final state
	Evicted                // live in MySQL only: the object was removed from the cluster on request
	Released               // Terminating without our finalizer: an evicted row stays evicted, any other is closed; without a row nothing is stored
	Confirmed              // Live, and the API server has just returned the object: its closed row is opened
)

// Record is one object as MySQL stores it.
type Record struct {
	Kind            *registry.Kind
	State           State
	UID             string
	GroupVersion    string
	Namespace, Name string
	ResVersion      int64
	Generation      int64
	CreateTime      time.Time
	Proto           []byte
	JSON            string
	Indexed         []any // parallel to Kind.Columns
	Labels          map[string]string
	Annotations     map[string]string
	// TraceParent is the W3C trace context of the write, for the change event.
	TraceParent string
}

// Size estimates the bytes that the record adds to a statement.
func (r *Record) Size() int {
	size := len(r.Proto) + len(r.JSON) + 512
	for k, v := range r.Labels {
		size += len(k) + len(v)
	}
	for k, v := range r.Annotations {
		size += len(k) + len(v)
	}
	return size
}

// Longest returns the name and the bytes of the longest value that the record stores.
func (r *Record) Longest() (name string, size int) {
	name, size = "JSON", len(r.JSON)
	if len(r.Proto) > size {
		name, size = "protobuf form", len(r.Proto)
	}
	for key, value := range r.Annotations {
		if len(value) > size {
			name, size = "annotation "+key, len(value)
		}
	}
	return name, size
}

// Rejected reports whether the object's content causes the error, so that a retry cannot clear it.
func Rejected(err error) bool {
	var field *wire.FieldError
	return errors.As(err, &field)
}

// Builder builds records of the registered kinds. It is safe for concurrent use.
type Builder struct {
	registry *registry.Registry
	encoders map[string]*wire.Encoder
	// metadata names the kinds that have an indexed column of their metadata.
	metadata map[string]bool
}

// NewBuilder compiles the encoders of all registered kinds.
func NewBuilder(r *registry.Registry) (*Builder, error) {
	b := &Builder{registry: r, encoders: map[string]*wire.Encoder{}, metadata: map[string]bool{}}
	for _, kind := range r.Kinds() {
		encoder, err := wire.NewEncoder(kind.Message)
		if err != nil {
			return nil, fmt.Errorf("compile encoder of %q: %w", kind.Name, err)
		}
		b.encoders[kind.Name] = encoder
		for _, column := range kind.Columns {
			if column.Path[0].Name() == "metadata" {
				b.metadata[kind.Name] = true
			}
		}
	}
	return b, nil
}

// Build builds the record of an object.
func (b *Builder) Build(object *unstructured.Unstructured, state State) (*Record, error) {
	gvk := object.GroupVersionKind()
	kind, ok := b.registry.Lookup(gvk.Kind)
	if !ok || gvk.Group != kind.GVK().Group {
		return nil, fmt.Errorf("kind %q of group %q is not registered", gvk.Kind, gvk.Group)
	}
	r := &Record{
		Kind: kind, State: state,
		UID:          string(object.GetUID()),
		GroupVersion: object.GetAPIVersion(),
		Namespace:    object.GetNamespace(), Name: object.GetName(),
		Generation:  object.GetGeneration(),
		CreateTime:  object.GetCreationTimestamp().UTC(),
		Labels:      object.GetLabels(),
		Annotations: object.GetAnnotations(),
	}
	if err := b.fill(r, object); err != nil {
		return nil, err
	}
	return r, checkMetadata(r)
}

func (b *Builder) fill(r *Record, object *unstructured.Unstructured) error {
	var err error
	if r.ResVersion, err = strconv.ParseInt(object.GetResourceVersion(), 10, 64); err != nil {
		return wire.Within("metadata.resourceVersion", wire.Invalid("%q is not a comparable version", object.GetResourceVersion()))
	}
	if r.Proto, err = b.encoders[r.Kind.Name].Encode(object.Object); err != nil {
		return err
	}
	if r.Indexed, err = index.Values(r.Kind, object.Object); err != nil {
		return err
	}
	text, err := json.Marshal(object.Object)
	if err != nil {
		return fmt.Errorf("encode JSON: %w", err)
	}
	r.JSON = string(text)
	return nil
}

// Widths of columns in package schema, in characters. The API server keeps names,
// labels and keys within them; what a later one accepts is rejected here.
const (
	maxUID  = 64
	maxName = 256
)

func checkMetadata(r *Record) error {
	switch {
	case r.UID == "" || len(r.UID) > maxUID:
		return wire.Within("metadata.uid", wire.Invalid("must have 1 to %d characters", maxUID))
	case r.Namespace == "" || len(r.Namespace) > maxName:
		return wire.Within("metadata.namespace", wire.Invalid("must have 1 to %d characters", maxName))
	case r.Name == "" || len(r.Name) > maxName:
		return wire.Within("metadata.name", wire.Invalid("must have 1 to %d characters", maxName))
	case r.CreateTime.IsZero():
		return wire.Within("metadata.creationTimestamp", wire.Invalid("is required"))
	}
	for key, value := range r.Annotations {
		if !utf8.ValidString(value) {
			return wire.Within("metadata.annotations", wire.Within(key, wire.Invalid("text is not valid UTF-8")))
		}
	}
	return nil
}
