package crd

import (
	"google.golang.org/protobuf/reflect/protoreflect"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// special are the messages of google.protobuf: their JSON form does not follow from their fields.
var special = map[protoreflect.FullName]func() *props{
	"google.protobuf.Timestamp": dateTime,
	"google.protobuf.Duration":  func() *props { return &props{Type: "string"} },
	"google.protobuf.Struct":    anyObject,
	"google.protobuf.Any":       anyMessage,
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

func list(element *props) *props {
	return &props{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: element}}
}

func mapOf(element *props) *props {
	return &props{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: element}}
}
