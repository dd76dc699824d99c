package webhook

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func TestHandle(t *testing.T) {
	const add, behind = `[{"op":"add","path":"/metadata/finalizers","value":["michelangelo/Ingester"]}]`,
		`[{"op":"add","path":"/metadata/finalizers/-","value":"michelangelo/Ingester"}]`
	tests := map[string]struct {
		operation admissionv1.Operation
		namespace string
		object    string
		watched   []string
		want      string // the patch
	}{
		"no finalizers":                    {admissionv1.Create, "a", `{"metadata":{"name":"m"}}`, nil, add},
		"an empty list":                    {admissionv1.Create, "a", `{"metadata":{"finalizers":[]}}`, nil, add},
		"no list":                          {admissionv1.Create, "a", `{"metadata":{"finalizers":null}}`, nil, add},
		"a generated name":                 {admissionv1.Create, "a", `{"metadata":{"generateName":"m-"}}`, nil, add},
		"finalizers of others":             {admissionv1.Create, "a", `{"metadata":{"finalizers":["x/y"]}}`, nil, behind},
		"ours among others":                {admissionv1.Create, "a", `{"metadata":{"finalizers":["x/y","michelangelo/Ingester"]}}`, nil, ""},
		"an update":                        {admissionv1.Update, "a", `{"metadata":{"name":"m"}}`, nil, ""},
		"a namespace that is worked in":    {admissionv1.Create, "b", `{"metadata":{}}`, []string{"a", "b"}, add},
		"a namespace that is left to none": {admissionv1.Create, "c", `{"metadata":{}}`, []string{"a", "b"}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			answer := handler{watched: tc.watched}.Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: tc.operation, Namespace: tc.namespace, Object: runtime.RawExtension{Raw: []byte(tc.object)},
			}})
			if !answer.Allowed {
				t.Fatalf("rejected: %v", answer.Result)
			}
			got := ""
			if len(answer.Patches) > 0 {
				raw, err := json.Marshal(answer.Patches)
				if err != nil {
					t.Fatal(err)
				}
				got = string(raw)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMalformedObjectsAreErrors(t *testing.T) {
	answer := handler{}.Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: []byte("{")},
	}})
	if answer.Allowed || answer.Result.Code != 400 {
		t.Errorf("response %+v", answer)
	}
}
