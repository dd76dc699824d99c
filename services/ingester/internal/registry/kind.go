package registry

import (
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
)

// Kind is one stored kind.
type Kind struct {
	// Name is the kind, for example "Model"; it is also the name of its message.
	Name string
	// Plural and Singular are the names of the resource, for example "models" and "model".
	Plural, Singular string
	// Table is the main table.
	Table string
	// Description is for CRDs and docs.
	Description string
	// Immutable means that objects of the kind never change after creation.
	Immutable bool
	// Message describes the protobuf form: type_meta=1, metadata=2, spec=3, status=4.
	Message protoreflect.MessageDescriptor
	// Columns are the indexed columns in the order of the options.
	Columns []Column
	// Keys are the secondary indexes over Columns.
	Keys []Key
}

// Key is a secondary index.
type Key struct {
	Name    string
	Columns []string
}

// GVK returns the kind's group, version and kind.
func (k *Kind) GVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: api.Group, Version: api.Version, Kind: k.Name}
}

// Metadata returns the metadata of an object of the kind, to patch or to authorize without its content.
func (k *Kind) Metadata(namespace, name string) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(k.GVK())
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// LabelsTable holds one row for each label of each object.
func (k *Kind) LabelsTable() string { return k.Table + "_labels" }

// AnnotationsTable holds one row for each annotation of each object.
func (k *Kind) AnnotationsTable() string { return k.Table + "_annotations" }

// identifier matches valid names of tables and columns. Identifiers come from the .proto files and
// are inserted into SQL, so this is their only validation.
var identifier = regexp.MustCompile(`^[a-z][a-z0-9_]{0,49}$`)

func newKind(m protoreflect.MessageDescriptor, o messageOptions) (*Kind, error) {
	k := &Kind{
		Name:        string(m.Name()),
		Singular:    strings.ToLower(string(m.Name())),
		Plural:      o.plural,
		Table:       o.table,
		Description: o.description,
		Immutable:   o.immutable,
		Message:     m,
	}
	if k.Plural == "" {
		k.Plural = k.Singular + "s"
	}
	if !identifier.MatchString(k.Table) {
		return nil, fmt.Errorf("table %q is not a valid SQL identifier", k.Table)
	}
	if err := checkEnvelope(m); err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, index := range o.indexes {
		columns, err := newColumns(m, index)
		if err != nil {
			return nil, fmt.Errorf("index %q: %w", index.key, err)
		}
		key := Key{Name: "idx_" + index.key}
		for _, c := range columns {
			if taken[c.Name] || baseColumns[c.Name] {
				return nil, fmt.Errorf("duplicate column %q", c.Name)
			}
			taken[c.Name] = true
			key.Columns = append(key.Columns, c.Name)
		}
		k.Columns = append(k.Columns, columns...)
		k.Keys = append(k.Keys, key)
	}
	return k, nil
}

// baseColumns are the columns that every main table has.
var baseColumns = map[string]bool{
	"uid": true, "group_ver": true, "namespace": true, "name": true, "res_version": true,
	"incarnation": true, "create_time": true, "update_time": true, "delete_time": true,
	"evict_time": true, "proto": true, "json": true,
}

// checkEnvelope checks the four fields that every kind has.
func checkEnvelope(m protoreflect.MessageDescriptor) error {
	want := map[protoreflect.Name]protoreflect.FieldNumber{"type_meta": 1, "metadata": 2, "spec": 3, "status": 4}
	if m.Fields().Len() != len(want) {
		return fmt.Errorf("message %q has %d fields, want type_meta, metadata, spec and status", m.Name(), m.Fields().Len())
	}
	for name, number := range want {
		field := m.Fields().ByName(name)
		if field == nil || field.Number() != number || field.Message() == nil {
			return fmt.Errorf("message %q requires the message field %q with number %d", m.Name(), name, number)
		}
	}
	return nil
}
