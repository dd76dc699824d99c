package registry

import (
	_ "embed" // the descriptor set
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
)

//go:embed descriptors.binpb
var descriptors []byte

// protoPackage holds the messages of the kinds.
const protoPackage = "michelangelo.api.v2"

// Registry holds the kinds. It is immutable and safe for concurrent use.
type Registry struct {
	files  *protoregistry.Files
	kinds  []*Kind
	byName map[string]*Kind
}

var load = sync.OnceValues(func() (*Registry, error) { return parse(descriptors, api.Kinds()) })

// Load returns the registry of the embedded descriptor set. It is parsed once.
// An error means that this binary was built from inconsistent sources.
func Load() (*Registry, error) { return load() }

// Kinds lists the kinds in their canonical order.
func (r *Registry) Kinds() []*Kind { return r.kinds }

// Lookup returns the kind of that name, for example "Model".
func (r *Registry) Lookup(name string) (*Kind, bool) {
	k, ok := r.byName[name]
	return k, ok
}

// Files returns the descriptors, for tests that decode with an independent implementation.
func (r *Registry) Files() *protoregistry.Files { return r.files }

func parse(raw []byte, names []string) (*Registry, error) {
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(raw, set); err != nil {
		return nil, fmt.Errorf("read descriptor set: %w", err)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("link descriptor set: %w", err)
	}
	r := &Registry{files: files, byName: map[string]*Kind{}}
	described, err := r.described()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		message, ok := described[name]
		if !ok {
			return nil, fmt.Errorf("kind %q is listed in api.Kinds, but no message carries its option", name)
		}
		kind, err := newKind(message.descriptor, message.options)
		if err != nil {
			return nil, fmt.Errorf("kind %q: %w", name, err)
		}
		r.kinds = append(r.kinds, kind)
		r.byName[name] = kind
		delete(described, name)
	}
	for name := range described {
		return nil, fmt.Errorf("message %q carries the kind option, but is not listed in api.Kinds", name)
	}
	return r, nil
}

type describedMessage struct {
	descriptor protoreflect.MessageDescriptor
	options    messageOptions
}

// described returns the messages that have the kind option.
func (r *Registry) described() (map[string]describedMessage, error) {
	reader, err := newOptionReader(r.files)
	if err != nil {
		return nil, err
	}
	out := map[string]describedMessage{}
	r.files.RangeFilesByPackage(protoPackage, func(f protoreflect.FileDescriptor) bool {
		messages := f.Messages()
		for i := range messages.Len() {
			m := messages.Get(i)
			var options messageOptions
			if options, err = reader.message(m); err != nil {
				return false
			}
			if options.table != "" {
				out[string(m.Name())] = describedMessage{descriptor: m, options: options}
			}
		}
		return true
	})
	return out, err
}
