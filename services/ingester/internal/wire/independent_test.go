package wire

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// compiled holds descriptors that the test compiles itself.
type compiled struct{ files linker.Files }

func compileProto(t *testing.T) compiled {
	t.Helper()
	files, err := compileOnce()
	if err != nil {
		t.Fatal(err)
	}
	return compiled{files}
}

var compileOnce = sync.OnceValues(func() (linker.Files, error) {
	sources, err := filepath.Glob("../../proto/*.proto")
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(sources))
	for _, s := range sources {
		names = append(names, filepath.Base(s))
	}
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(protocompile.CompositeResolver{
		&protocompile.SourceResolver{ImportPaths: []string{"../../proto"}},
		protocompile.ResolverFunc(kubernetesSource),
	})}
	return compiler.Compile(context.Background(), names...)
})

// kubernetesSource finds k8s.io/<module>/... in the module cache.
func kubernetesSource(path string) (protocompile.SearchResult, error) {
	for _, module := range []string{"k8s.io/api", "k8s.io/apimachinery"} {
		if rest, ok := strings.CutPrefix(path, module+"/"); ok {
			dir, err := exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
			if err != nil {
				return protocompile.SearchResult{}, err
			}
			source, err := os.Open(filepath.Join(strings.TrimSpace(string(dir)), filepath.FromSlash(rest)))
			return protocompile.SearchResult{Source: source}, err
		}
	}
	return protocompile.SearchResult{}, os.ErrNotExist
}

func (c compiled) message(t *testing.T, kind string) protoreflect.MessageDescriptor {
	t.Helper()
	d, err := c.files.AsResolver().FindDescriptorByName(protoreflect.FullName("michelangelo.api.v2." + kind))
	if err != nil {
		t.Fatal(err)
	}
	return d.(protoreflect.MessageDescriptor)
}

// goMessages are the Go types of Kubernetes messages, to decode them with their own Unmarshal.
var goMessages = map[protoreflect.FullName]func() goMessage{
	"k8s.io.api.core.v1.PodTemplateSpec":                 func() goMessage { return &corev1.PodTemplateSpec{} },
	"k8s.io.apimachinery.pkg.apis.meta.v1.Condition":     func() goMessage { return &metav1.Condition{} },
	"k8s.io.apimachinery.pkg.apis.meta.v1.LabelSelector": func() goMessage { return &metav1.LabelSelector{} },
	"k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta":    func() goMessage { return &metav1.ObjectMeta{} },
	"k8s.io.apimachinery.pkg.apis.meta.v1.Time":          func() goMessage { return &metav1.Time{} },
	"k8s.io.apimachinery.pkg.apis.meta.v1.TypeMeta":      func() goMessage { return &metav1.TypeMeta{} },
}

type goMessage interface{ Unmarshal([]byte) error }

// canonical returns the JSON of a Kubernetes value, in which nil and empty are the same.
func canonical(v any) (string, error) {
	raw, err := json.Marshal(v)
	return reflect.TypeOf(v).String() + " " + string(raw), err
}

// decoded decodes a message to plain Go values. Keys are JSON
// names; enums are names, times and durations text, messages of Kubernetes their JSON.
func decoded(m protoreflect.Message) (map[string]any, error) {
	out := map[string]any{}
	if len(m.GetUnknown()) > 0 {
		return nil, fmt.Errorf("message %s has unknown fields", m.Descriptor().FullName())
	}
	var err error
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		out[f.JSONName()], err = decodedField(f, v)
		return err == nil
	})
	return out, err
}

func decodedField(f protoreflect.FieldDescriptor, v protoreflect.Value) (any, error) {
	var err error
	switch {
	case f.IsMap():
		out := map[string]any{}
		v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			out[k.String()], err = decodedValue(f.MapValue(), v)
			return err == nil
		})
		return out, err
	case f.IsList():
		out := []any{}
		for i := range v.List().Len() {
			element, err := decodedValue(f, v.List().Get(i))
			if err != nil {
				return nil, err
			}
			out = append(out, element)
		}
		return out, nil
	}
	return decodedValue(f, v)
}

func decodedValue(f protoreflect.FieldDescriptor, v protoreflect.Value) (any, error) {
	switch f.Kind() {
	case protoreflect.EnumKind:
		return string(f.Enum().Values().ByNumber(v.Enum()).Name()), nil
	case protoreflect.MessageKind:
		return decodedMessage(v.Message())
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return v.Int(), nil
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return v.Float(), nil
	}
	return v.Interface(), nil
}

func decodedMessage(m protoreflect.Message) (any, error) {
	name := m.Descriptor().FullName()
	if fresh, ok := goMessages[name]; ok {
		raw, err := proto.Marshal(m.Interface())
		if err != nil {
			return nil, err
		}
		typed := fresh()
		if err := typed.Unmarshal(raw); err != nil {
			return nil, err
		}
		return canonical(typed)
	}
	field := func(name protoreflect.Name) protoreflect.Value { return m.Get(m.Descriptor().Fields().ByName(name)) }
	switch name {
	case "google.protobuf.Timestamp":
		return time.Unix(field("seconds").Int(), field("nanos").Int()).UTC().Format(time.RFC3339Nano), nil
	case "google.protobuf.Duration":
		return (time.Duration(field("seconds").Int())*time.Second + time.Duration(field("nanos").Int())).String(), nil
	case "google.protobuf.Any":
		return map[string]any{"@type": field("type_url").String(), "value": base64.StdEncoding.EncodeToString(field("value").Bytes())}, nil
	case "google.protobuf.Struct":
		return decodedStruct(m)
	}
	return decoded(m)
}

func decodedStruct(m protoreflect.Message) (any, error) {
	out := map[string]any{}
	var err error
	m.Get(m.Descriptor().Fields().ByName("fields")).Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		out[k.String()], err = decodedAny(v.Message())
		return err == nil
	})
	return out, err
}

// decodedAny reads a google.protobuf.Value.
func decodedAny(m protoreflect.Message) (any, error) {
	set := m.WhichOneof(m.Descriptor().Oneofs().ByName("kind"))
	if set == nil {
		return nil, fmt.Errorf("a value is of no kind")
	}
	switch set.Name() {
	case "null_value":
		return nil, nil // null
	case "struct_value":
		return decodedStruct(m.Get(set).Message())
	case "list_value":
		out := []any{}
		list := m.Get(set).Message()
		values := list.Get(list.Descriptor().Fields().ByName("values")).List()
		for i := range values.Len() {
			element, err := decodedAny(values.Get(i).Message())
			if err != nil {
				return nil, err
			}
			out = append(out, element)
		}
		return out, nil
	}
	return m.Get(set).Interface(), nil
}
