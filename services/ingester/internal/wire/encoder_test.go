package wire

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

var update = flag.Bool("update", false, "write the golden files")

func kind(t testing.TB, name string) *registry.Kind {
	t.Helper()
	r, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	k, ok := r.Lookup(name)
	if !ok {
		t.Fatalf("kind %q is not registered", name)
	}
	return k
}

func encoder(t testing.TB, name string) *Encoder {
	t.Helper()
	e, err := NewEncoder(kind(t, name).Message)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func sample(t testing.TB, file string) map[string]any {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := yaml.YAMLToJSON(raw)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(asJSON, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestGolden pins the bytes of the proto column, which other programs read.
// The samples under full set all fields of their kind.
func TestGolden(t *testing.T) {
	files := []string{"model.yaml", "project.yaml"}
	for _, name := range api.Kinds() {
		files = append(files, filepath.Join("full", strings.ToLower(name)+".yaml"))
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			object := sample(t, file)
			got, err := encoder(t, object["kind"].(string)).Encode(object)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", strings.TrimSuffix(file, ".yaml")+".hex")
			text := hex.Dump(got)
			if *update {
				if err := os.WriteFile(golden, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text); diff != "" {
				t.Errorf("bytes changed (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFullSamplesSetAllFields decodes the samples and reports fields that no sample sets.
// One member of a oneof is enough.
func TestFullSamplesSetAllFields(t *testing.T) {
	files := compileProto(t)
	for _, name := range api.Kinds() {
		raw, err := encoder(t, name).Encode(sample(t, filepath.Join("full", strings.ToLower(name)+".yaml")))
		if err != nil {
			t.Fatal(err)
		}
		m := dynamicpb.NewMessage(files.message(t, name))
		if err := proto.Unmarshal(raw, m); err != nil {
			t.Fatal(err)
		}
		reached, set := map[protoreflect.FullName]protoreflect.MessageDescriptor{}, map[protoreflect.FullName]bool{}
		collect(m, reached, set)
		for _, d := range reached {
			for i := range d.Fields().Len() {
				f := d.Fields().Get(i)
				if !set[f.FullName()] && (f.ContainingOneof() == nil || !set[f.ContainingOneof().FullName()]) {
					t.Errorf("the sample of %s does not set %s", name, f.FullName())
				}
			}
		}
	}
}

// collect records the messages of the kinds within m, and the fields and oneofs that are set.
func collect(m protoreflect.Message, reached map[protoreflect.FullName]protoreflect.MessageDescriptor, set map[protoreflect.FullName]bool) {
	if !strings.HasPrefix(string(m.Descriptor().FullName()), "michelangelo.") {
		return
	}
	reached[m.Descriptor().FullName()] = m.Descriptor()
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		set[f.FullName()] = true
		if oneof := f.ContainingOneof(); oneof != nil {
			set[oneof.FullName()] = true
		}
		switch {
		case f.IsMap() && f.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				collect(v.Message(), reached, set)
				return true
			})
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				collect(v.List().Get(i).Message(), reached, set)
			}
		case !f.IsMap() && f.Message() != nil:
			collect(v.Message(), reached, set)
		}
		return true
	})
}

// TestKubernetesPartsEqualGoTypes compares field 2 with ObjectMeta's own Marshal.
func TestKubernetesPartsEqualGoTypes(t *testing.T) {
	model := sample(t, "model.yaml")
	raw, err := encoder(t, "Model").Encode(model)
	if err != nil {
		t.Fatal(err)
	}
	var meta metav1.ObjectMeta
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(model["metadata"].(map[string]any), &meta); err != nil {
		t.Fatal(err)
	}
	want, err := meta.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	typeMeta, err := (&metav1.TypeMeta{Kind: "Model", APIVersion: "michelangelo.api/v2"}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	parts := topLevel(t, raw)
	if diff := cmp.Diff(want, parts[2]); diff != "" {
		t.Errorf("metadata differs from ObjectMeta.Marshal (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(typeMeta, parts[1]); diff != "" {
		t.Errorf("type_meta differs from TypeMeta.Marshal (-want +got):\n%s", diff)
	}
}

func TestEncoderWritesAllFourParts(t *testing.T) {
	raw, err := encoder(t, "Model").Encode(map[string]any{"apiVersion": "michelangelo.api/v2", "kind": "Model"})
	if err != nil {
		t.Fatal(err)
	}
	parts := topLevel(t, raw)
	for _, n := range []protowire.Number{1, 2, 3, 4} {
		if _, ok := parts[n]; !ok {
			t.Errorf("part %d is missing", n)
		}
	}
}

func topLevel(t testing.TB, raw []byte) map[protowire.Number][]byte {
	t.Helper()
	out := map[protowire.Number][]byte{}
	for len(raw) > 0 {
		n, kind, size := protowire.ConsumeTag(raw)
		if size < 0 || kind != protowire.BytesType {
			t.Fatalf("bad tag of part %d", n)
		}
		raw = raw[size:]
		content, size := protowire.ConsumeBytes(raw)
		if size < 0 {
			t.Fatalf("bad length of part %d", n)
		}
		out[n], raw = content, raw[size:]
	}
	return out
}

// TestSpecsDecodeLikeProtojson decodes with dynamicpb and compares with an
// independent implementation of the JSON mapping.
func TestSpecsDecodeLikeProtojson(t *testing.T) {
	for _, name := range []string{"Model", "Project"} {
		t.Run(name, func(t *testing.T) {
			o := sample(t, strings.ToLower(name)+".yaml")
			raw, err := encoder(t, name).Encode(o)
			if err != nil {
				t.Fatal(err)
			}
			spec := kind(t, name).Message.Fields().ByName("spec").Message()
			compareSpec(t, spec, o["spec"], topLevel(t, raw)[specNumber])
		})
	}
}

func compareSpec(t testing.TB, spec protoreflect.MessageDescriptor, content any, raw []byte) {
	t.Helper()
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	want, got := dynamicpb.NewMessage(spec), dynamicpb.NewMessage(spec)
	if err := protojson.Unmarshal(text, want); err != nil {
		t.Fatal(err)
	}
	if err := (proto.UnmarshalOptions{DiscardUnknown: false}).Unmarshal(raw, got); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(want, got) {
		t.Errorf("decoded %v\nwant %v", got, want)
	}
}

func TestInvalidFieldsAreNamed(t *testing.T) {
	tests := map[string]struct {
		spec map[string]any
		want FieldError
	}{
		"an unknown key":                {map[string]any{"colour": "x"}, FieldError{"spec.colour", "unknown field of michelangelo.api.v2.ModelSpec"}},
		"an unknown nested key":         {map[string]any{"owner": map[string]any{"nick": "x"}}, FieldError{"spec.owner.nick", "unknown field of michelangelo.api.v2.UserInfo"}},
		"the same field twice":          {map[string]any{"trainingFramework": "a", "training_framework": "b"}, FieldError{"spec.training_framework", "the same field as trainingFramework"}},
		"an unknown enum value":         {map[string]any{"kind": "MODEL_KIND_X"}, FieldError{"spec.kind", `"MODEL_KIND_X" is not a value of michelangelo.api.v2.ModelKind`}},
		"an integer out of range":       {map[string]any{"revisionId": int64(1) << 40}, FieldError{"spec.revisionId", "1099511627776 does not fit into 32 bits"}},
		"a fraction for an integer":     {map[string]any{"revisionId": 1.5}, FieldError{"spec.revisionId", "1.5 is not an integer"}},
		"text for a boolean":            {map[string]any{"sealed": "yes"}, FieldError{"spec.sealed", "got string, want boolean"}},
		"text that is not UTF-8":        {map[string]any{"source": "\xff"}, FieldError{"spec.source", "text is not valid UTF-8"}},
		"an object for a list":          {map[string]any{"qualityScores": map[string]any{}}, FieldError{"spec.qualityScores", "got map[string]interface {}, want list"}},
		"a bad element of a list":       {map[string]any{"qualityScores": []any{map[string]any{}, map[string]any{"value": "x"}}}, FieldError{"spec.qualityScores[1].value", `"x" is not a number`}},
		"null in a list":                {map[string]any{"deployableArtifactUri": []any{nil}}, FieldError{"spec.deployableArtifactUri[0]", "null in a list"}},
		"two members of one oneof":      {importance(map[string]any{"intValue": int64(1), "boolValue": true}), FieldError{"spec.featureImportanceList[0].featureImportance.f.baseline.intValue", "only one of boolValue and intValue may be set"}},
		"a bad element of packed lists": {map[string]any{"inputSchema": map[string]any{"schemaItems": []any{map[string]any{"shape": []any{int64(1), "x"}}}}}, FieldError{"spec.inputSchema.schemaItems[0].shape[1]", `"x" is not an integer`}},
	}
	e := encoder(t, "Model")
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := e.Encode(map[string]any{"apiVersion": "michelangelo.api/v2", "kind": "Model", "spec": tc.spec})
			var got *FieldError
			if !errors.As(err, &got) {
				t.Fatalf("error %v, want a FieldError", err)
			}
			if diff := cmp.Diff(tc.want, *got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func importance(baseline map[string]any) map[string]any {
	return map[string]any{"featureImportanceList": []any{map[string]any{
		"featureImportance": map[string]any{"f": map[string]any{"baseline": baseline}},
	}}}
}

func TestUnknownKeysOfMetadataAndRoot(t *testing.T) {
	e := encoder(t, "Model")
	for name, o := range map[string]map[string]any{
		"metadata": {"apiVersion": "michelangelo.api/v2", "kind": "Model", "metadata": map[string]any{"colour": "x"}},
		"root":     {"apiVersion": "michelangelo.api/v2", "kind": "Model", "data": map[string]any{}},
	} {
		var got *FieldError
		if _, err := e.Encode(o); !errors.As(err, &got) {
			t.Errorf("%s: error %v, want a FieldError", name, err)
		}
	}
}
