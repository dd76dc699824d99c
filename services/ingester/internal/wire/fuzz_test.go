package wire

import (
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
)

// FuzzModelSpec passes JSON to the encoder and to protojson. What both accept must be equivalent;
// the encoder must never panic, and its output must decode.
func FuzzModelSpec(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"algorithm":"xgboost","revisionId":-1,"sealed":true}`,
		`{"kind":"MODEL_KIND_CUSTOM","decisionThreshold":0.5,"owner":{"name":"a"}}`,
		`{"qualityScores":[{"metadata":{"a":[1,null,"x",{"b":true}]},"value":-0.0}]}`,
		`{"featureImportanceList":[{"featureImportance":{"b":{"mean":1e300},"a":{"baseline":{"intValue":0}}}}]}`,
		`{"inputSchema":{"schemaItems":[{"name":"é","dataType":"DATA_TYPE_INT","shape":[1,2,-3]}]}}`,
	} {
		f.Add([]byte(seed))
	}
	e := encoder(f, "Model")
	spec := kind(f, "Model").Message.Fields().ByName("spec").Message()
	f.Fuzz(func(t *testing.T, text []byte) {
		var content map[string]any
		if err := utiljson.Unmarshal(text, &content); err != nil || content == nil {
			return // the API server returns objects only
		}
		raw, err := e.spec.append(nil, content)
		if err != nil {
			return
		}
		got := dynamicpb.NewMessage(spec)
		if err := proto.Unmarshal(raw, got); err != nil {
			t.Fatalf("written bytes do not decode: %v", err)
		}
		want := dynamicpb.NewMessage(spec)
		if err := protojson.Unmarshal(text, want); err != nil {
			return // stricter than the encoder, for example about duplicate keys
		}
		if !proto.Equal(want, got) {
			t.Errorf("decoded %v\nwant %v", got, want)
		}
	})
}
