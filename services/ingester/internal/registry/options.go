package registry

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Names of the option extensions in proto/options.proto.
const (
	kindOption  = "flotilla.ingester.kind"
	indexOption = "flotilla.ingester.index"
)

// messageOptions are the options of one message as Go values. table is empty if the message is not a kind.
type messageOptions struct {
	table, plural, description string
	immutable                  bool
	indexes                    []indexOptions
}

type indexOptions struct {
	path, key, sqlType string
}

// optionReader reads the option extensions. They have no generated Go types, so
// the options are parsed again with the extensions of the set itself.
type optionReader struct {
	types       *dynamicpb.Types
	kind, index protoreflect.ExtensionType
}

func newOptionReader(files *protoregistry.Files) (*optionReader, error) {
	r := &optionReader{types: dynamicpb.NewTypes(files)}
	var err error
	if r.kind, err = r.types.FindExtensionByName(kindOption); err != nil {
		return nil, fmt.Errorf("find option %q: %w", kindOption, err)
	}
	if r.index, err = r.types.FindExtensionByName(indexOption); err != nil {
		return nil, fmt.Errorf("find option %q: %w", indexOption, err)
	}
	return r, nil
}

func (r *optionReader) message(m protoreflect.MessageDescriptor) (messageOptions, error) {
	raw, err := proto.Marshal(m.Options())
	if err != nil {
		return messageOptions{}, fmt.Errorf("read options of %q: %w", m.FullName(), err)
	}
	options := &descriptorpb.MessageOptions{}
	if err := (proto.UnmarshalOptions{Resolver: r.types}).Unmarshal(raw, options); err != nil {
		return messageOptions{}, fmt.Errorf("read options of %q: %w", m.FullName(), err)
	}
	reflected := options.ProtoReflect()
	var out messageOptions
	if field := r.kind.TypeDescriptor(); reflected.Has(field) {
		kind := reflected.Get(field).Message()
		out.table = text(kind, "table")
		out.plural = text(kind, "plural")
		out.description = text(kind, "description")
		out.immutable = kind.Get(kind.Descriptor().Fields().ByName("immutable")).Bool()
	}
	if field := r.index.TypeDescriptor(); reflected.Has(field) {
		list := reflected.Get(field).List()
		for i := range list.Len() {
			index := list.Get(i).Message()
			out.indexes = append(out.indexes, indexOptions{
				path: text(index, "path"), key: text(index, "key"), sqlType: text(index, "type"),
			})
		}
	}
	return out, nil
}

func text(m protoreflect.Message, field protoreflect.Name) string {
	return m.Get(m.Descriptor().Fields().ByName(field)).String()
}
