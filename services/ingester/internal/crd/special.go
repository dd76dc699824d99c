package crd

import (
	"google.golang.org/protobuf/reflect/protoreflect"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const kubeMeta = "k8s.io.apimachinery.pkg.apis.meta.v1."

// special are the messages whose JSON form does not follow from their fields: those
// of google.protobuf and of Kubernetes.
var special = map[protoreflect.FullName]func() *props{
	"google.protobuf.Timestamp": dateTime,
	"google.protobuf.Duration":  func() *props { return &props{Type: "string"} },
	"google.protobuf.Struct":    anyObject,
	"google.protobuf.Any":       anyMessage,

	kubeMeta + "Time":                    dateTime,
	kubeMeta + "TypeMeta":                typeMeta,
	kubeMeta + "LabelSelector":           labelSelector,
	kubeMeta + "Condition":               condition,
	"k8s.io.api.core.v1.PodTemplateSpec": anyObject,
	"k8s.io.apimachinery.pkg.api.resource.Quantity": func() *props {
		return &props{XIntOrString: true, AnyOf: []props{{Type: "integer"}, {Type: "string"}}}
	},
}

func dateTime() *props { return &props{Type: "string", Format: "date-time"} }

func anyObject() *props {
	keep := true
	return &props{Type: "object", XPreserveUnknownFields: &keep}
}

func anyMessage() *props {
	return &props{Type: "object", Properties: map[string]props{
		"@type": {Type: "string"},
		"value": {Type: "string", Format: "byte"},
	}}
}

func typeMeta() *props {
	return &props{Type: "object", Properties: map[string]props{
		"apiVersion": {Type: "string"},
		"kind":       {Type: "string"},
	}}
}

func labelSelector() *props {
	return &props{Type: "object", Properties: map[string]props{
		"matchLabels": {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{
			Allows: true, Schema: &props{Type: "string"},
		}},
		"matchExpressions": list(&props{
			Type: "object", Required: []string{"key", "operator"},
			Properties: map[string]props{
				"key":      {Type: "string"},
				"operator": {Type: "string"},
				"values":   list(&props{Type: "string"}),
			},
		}),
	}}
}

func condition() *props {
	return &props{Type: "object", Properties: map[string]props{
		"type":               {Type: "string"},
		"status":             {Type: "string"},
		"observedGeneration": {Type: "integer", Format: "int64"},
		"lastTransitionTime": {Type: "string", Format: "date-time"},
		"reason":             {Type: "string"},
		"message":            {Type: "string"},
	}}
}

func list(element *props) props {
	return props{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: element}}
}
