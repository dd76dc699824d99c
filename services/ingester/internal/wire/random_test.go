package wire

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
)

// TestRandomObjectsDecodeToSameValues encodes random objects of every kind and
// decodes them with descriptors that this test compiles from the .proto files.
// The expected values use neither the encoder nor the embedded descriptors.
func TestRandomObjectsDecodeToSameValues(t *testing.T) {
	files := compileProto(t)
	for i, name := range api.Kinds() {
		t.Run(name, func(t *testing.T) {
			d := files.message(t, name)
			e := encoder(t, name)
			for seed := range uint64(40) {
				g := generator{r: rand.New(rand.NewPCG(seed, uint64(i)))}
				in, want := g.object(d)
				raw, err := e.Encode(in)
				if err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, text(in))
				}
				got := dynamicpb.NewMessage(d)
				if err := proto.Unmarshal(raw, got); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				meaning, err := decoded(got)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if diff := cmp.Diff(want, meaning); diff != "" {
					t.Fatalf("seed %d (-want +got):\n%s\nof %s", seed, diff, text(in))
				}
			}
		})
	}
}

// TestEncodingIsDeterministic encodes the same object again, with its keys in another order in memory.
func TestEncodingIsDeterministic(t *testing.T) {
	files := compileProto(t)
	for i, name := range api.Kinds() {
		d := files.message(t, name)
		e := encoder(t, name)
		for seed := range uint64(10) {
			g := generator{r: rand.New(rand.NewPCG(seed, uint64(i)))}
			in, _ := g.object(d)
			first, err := e.Encode(in)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				second, err := e.Encode(copyOf(in).(map[string]any))
				if err != nil {
					t.Fatal(err)
				}
				if string(first) != string(second) {
					t.Fatalf("two encodings of one %s differ: %s", name, text(in))
				}
			}
		}
	}
}

func copyOf(v any) any {
	switch value := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, element := range value {
			out[k] = copyOf(element)
		}
		return out
	case []any:
		out := make([]any, 0, len(value))
		for _, element := range value {
			out = append(out, copyOf(element))
		}
		return out
	}
	return v
}

func text(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return b.String()
}
