package record_test

import (
	"testing"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/object"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// sent is a Model as the API server sends it in the benchmark of the whole ingester.
const sent = `{"apiVersion":"michelangelo.api/v2","kind":"Model","metadata":{"annotations":{"note":"made for a benchmark","ticket":"ML-17"},` +
	`"creationTimestamp":"2026-11-22T05:16:42Z","finalizers":["michelangelo/Ingester"],"generation":1,` +
	`"labels":{"stage":"test","team":"team-17","tier":"gold"},"managedFields":[{"apiVersion":"michelangelo.api/v2",` +
	`"fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:note":{},"f:ticket":{}},"f:finalizers":{".":{},` +
	`"v:\"michelangelo/Ingester\"":{}},"f:labels":{".":{},"f:stage":{},"f:team":{},"f:tier":{}}},"f:spec":{".":{},"f:algorithm":{},` +
	`"f:description":{},"f:inputSchema":{".":{},"f:schemaItems":{}},"f:kind":{},"f:modelFamily":{".":{},"f:name":{}},` +
	`"f:owner":{".":{},"f:name":{}},"f:trainingFramework":{}}},"manager":"benchingester","operation":"Update",` +
	`"time":"2026-11-22T05:16:42Z"}],"name":"model-000017","namespace":"bench","resourceVersion":"1234",` +
	`"uid":"0a5fd6f5-2f0c-4a8e-9d0f-6d1d0a4d3c11"},"spec":{"algorithm":"xgboost","description":"Churn of customers, model 17",` +
	`"inputSchema":{"schemaItems":[{"dataType":"DATA_TYPE_INT","name":"age"}]},"kind":"MODEL_KIND_BINARY_CLASSIFICATION",` +
	`"modelFamily":{"name":"churn"},"owner":{"name":"ada"},"trainingFramework":"spark"}}`

func builder(t testing.TB) *record.Builder {
	t.Helper()
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	b, err := record.NewBuilder(kinds)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// BenchmarkBuild parses one object and builds its record: the complete processing of its content
// in the ingester.
func BenchmarkBuild(b *testing.B) {
	builder := builder(b)
	b.ReportAllocs()
	for b.Loop() {
		o, err := object.Parse([]byte(sent))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := builder.FromObject(o, record.Live); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParse is the first half: the object of an informer's store.
func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := object.Parse([]byte(sent)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBuildFromTree is the same with a tree of the whole object.
func BenchmarkBuildFromTree(b *testing.B) {
	builder := builder(b)
	b.ReportAllocs()
	for b.Loop() {
		o, err := object.Parse([]byte(sent))
		if err != nil {
			b.Fatal(err)
		}
		u, err := o.Unstructured()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := builder.Build(u, record.Live); err != nil {
			b.Fatal(err)
		}
	}
}
