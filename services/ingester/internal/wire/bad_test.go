package wire

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// path builds nested objects: path("a", "b", 1) is {"a": {"b": 1}}. A key "[]" makes a list of one.
func path(elements ...any) any {
	if len(elements) == 1 {
		return elements[0]
	}
	if elements[0] == "[]" {
		return []any{path(elements[1:]...)}
	}
	return map[string]any{elements[0].(string): path(elements[1:]...)}
}

// TestInvalidFieldsOfAllShapesAreNamed has, for several kinds, invalid values that the API server may accept.
func TestInvalidFieldsOfAllShapesAreNamed(t *testing.T) {
	pod := "spec.head.pod"
	inPod := func(elements ...any) any { return path(append([]any{"spec", "head", "pod"}, elements...)...) }
	tests := map[string]struct {
		kind string
		part any
		want FieldError
	}{
		"an unknown enum value":                  {"Pipeline", path("spec", "type", "PIPELINE_TYPE_X"), FieldError{"spec.type", `"PIPELINE_TYPE_X" is not a value of michelangelo.api.v2.PipelineType`}},
		"an enum value without its prefix":       {"Deployment", path("status", "stage", "VALIDATION"), FieldError{"status.stage", `"VALIDATION" is not a value of michelangelo.api.v2.DeploymentStage`}},
		"an unknown enum value in a list":        {"Pipeline", path("spec", "notifications", "[]", "eventTypes", []any{"EVENT_TYPE_INVALID", "X"}), FieldError{"spec.notifications[0].eventTypes[1]", `"X" is not a value of michelangelo.api.v2.Notification.EventType`}},
		"an unknown condition status":            {"Cluster", path("status", "statusConditions", "[]", "status", "True"), FieldError{"status.statusConditions[0].status", `"True" is not a value of michelangelo.api.ConditionStatus`}},
		"invalid UTF-8":                          {"ModelFamily", path("spec", "name", "a\xff"), FieldError{"spec.name", "text is not valid UTF-8"}},
		"invalid UTF-8 in a list":                {"SparkJob", path("spec", "mainArgs", []any{"a", "\xff"}), FieldError{"spec.mainArgs[1]", "text is not valid UTF-8"}},
		"invalid UTF-8 in the value of a map":    {"RayCluster", path("spec", "rayConf", "k", "\xc3"), FieldError{"spec.rayConf.k", "text is not valid UTF-8"}},
		"invalid UTF-8 in a struct":              {"PipelineRun", path("spec", "input", "a", "[]", "b", "\xff"), FieldError{"spec.input.a[0].b", "text is not valid UTF-8"}},
		"invalid UTF-8 in a pod":                 {"RayCluster", inPod("spec", "containers", "[]", "image", "\xff"), FieldError{pod + ".spec.containers[0].image", "text is not valid UTF-8"}},
		"invalid UTF-8 in the key of a selector": {"SparkJob", path("spec", "affinity", "resourceAffinity", "selector", "matchLabels", "\xff", "x"), FieldError{"spec.affinity.resourceAffinity.selector.matchLabels.?", "text is not valid UTF-8"}},
		"invalid UTF-8 in an annotation":         {"Cluster", path("metadata", "annotations", "k", "\xff"), FieldError{"metadata.annotations.k", "text is not valid UTF-8"}},
		"two targets":                            {"Deployment", path("spec", map[string]any{"inferenceServer": map[string]any{}, "mobileSpec": map[string]any{}}), FieldError{"spec.mobileSpec", "only one of inferenceServer and mobileSpec may be set"}},
		"two triggers":                           {"TriggerRun", path("spec", "trigger", map[string]any{"cronSchedule": map[string]any{}, "intervalSchedule": map[string]any{}}), FieldError{"spec.trigger.intervalSchedule", "only one of cronSchedule and intervalSchedule may be set"}},
		"two resources, deep down":               {"PipelineRun", path("status", "steps", "[]", "attemptDetails", "[]", "stepInfo", "resources", "[]", map[string]any{"internalResource": map[string]any{}, "externalResource": map[string]any{}}), FieldError{"status.steps[0].attemptDetails[0].stepInfo.resources[0].externalResource", "only one of internalResource and externalResource may be set"}},
		"an int32 out of range":                  {"InferenceServer", path("spec", "initSpec", "numInstances", int64(1)<<31), FieldError{"spec.initSpec.numInstances", "2147483648 does not fit into 32 bits"}},
		"an int64 out of range":                  {"InferenceServer", path("status", "observedGeneration", "9223372036854775808"), FieldError{"status.observedGeneration", `"9223372036854775808" is not an integer`}},
		"an int64 too large for a number":        {"InferenceServer", path("status", "observedGeneration", 1e300), FieldError{"status.observedGeneration", "1e+300 is not an integer"}},
		"an int32 out of range in a pod":         {"RayCluster", inPod("spec", "containers", "[]", "ports", "[]", "containerPort", int64(1)<<40), FieldError{pod + ".spec.containers.ports.containerPort", "got number 1099511627776, want int32"}},
		"an unknown field":                       {"Revision", path("spec", "baseType", "version", "v2"), FieldError{"spec.baseType.version", "unknown field"}},
		"an unknown field of a message":          {"RayJob", path("spec", "cluster", "names", "x"), FieldError{"spec.cluster.names", "unknown field of michelangelo.api.ResourceIdentifier"}},
		"a field by the name of an oneof":        {"Cluster", path("spec", "cluster", map[string]any{}), FieldError{"spec.cluster", "unknown field of michelangelo.api.v2.ClusterSpec"}},
		"a reserved field":                       {"Deployment", path("spec", "selfHostReference", "x"), FieldError{"spec.selfHostReference", "unknown field of michelangelo.api.v2.DeploymentSpec"}},
		"an unknown field of a pod":              {"RayCluster", inPod("spec", "containers", "[]", "imagee", "x"), FieldError{pod + ".spec.containers[0].imagee", "unknown field"}},
		"text for an object of a pod":            {"RayCluster", inPod("spec", "x"), FieldError{pod + ".spec", "got string, want v1.PodSpec"}},
		"an unknown field of an any":             {"PipelineRun", path("status", "details", "[]", "text", "x"), FieldError{"status.details[0].text", "unknown field of google.protobuf.Any"}},
		"invalid base64":                         {"Revision", path("spec", "content", "value", "?"), FieldError{"spec.content.value", "invalid base64: illegal base64 data at input byte 0"}},
		"an invalid time":                        {"PipelineRun", path("status", "endTime", "yesterday"), FieldError{"status.endTime", `got "yesterday", want a time like 2006-01-02T15:04:05Z`}},
		"an invalid time of Kubernetes":          {"RayCluster", path("status", "lastUpdateTime", int64(5)), FieldError{"status.lastUpdateTime", "json: cannot unmarshal number into Go value of type string"}},
		"an invalid duration":                    {"TriggerRun", path("spec", "trigger", "batchPolicy", "wait", "1 fortnight"), FieldError{"spec.trigger.batchPolicy.wait", `got "1 fortnight", want a duration like 1.5s`}},
		"a duration that is a number":            {"Deployment", path("spec", "shadowSpec", "duration", int64(3)), FieldError{"spec.shadowSpec.duration", "got int64, want duration"}},
		"an object for a list":                   {"SparkJob", path("status", "conditions", map[string]any{}), FieldError{"status.conditions", "got map[string]interface {}, want list"}},
		"null in a map":                          {"TriggerRun", path("spec", "trigger", "parametersMap", "a", nil), FieldError{"spec.trigger.parametersMap.a", "null in a map"}},
		"a spec that is not an object":           {"RayJob", path("spec", "x"), FieldError{"spec", "got string, want object"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			object := tc.part.(map[string]any)
			object["apiVersion"], object["kind"] = "michelangelo.api/v2", tc.kind
			_, err := encoder(t, tc.kind).Encode(object)
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
