package crd

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// FileName returns the name of the file under config/crd that holds the CRD of a kind.
func FileName(kind *registry.Kind) string { return api.Group + "_" + kind.Plural + ".yaml" }

// Definition returns the CRD of a kind.
func Definition(kind *registry.Kind) (*apiextensionsv1.CustomResourceDefinition, error) {
	properties, err := root(kind)
	if err != nil {
		return nil, fmt.Errorf("schema of kind %q: %w", kind.Name, err)
	}
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: kind.Plural + "." + api.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: api.Group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: kind.Name, ListKind: kind.Name + "List", Plural: kind.Plural, Singular: kind.Singular,
			},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: api.Version, Served: true, Storage: true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: properties},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},

				AdditionalPrinterColumns: printerColumns(kind),
			}},
		},
	}, nil
}

// printerColumns returns the columns of kubectl get: the state, the owner and the age of an object.
func printerColumns(kind *registry.Kind) []apiextensionsv1.CustomResourceColumnDefinition {
	var out []apiextensionsv1.CustomResourceColumnDefinition
	fields := kind.Message.Fields()
	if state := fields.ByName("status").Message().Fields().ByName("state"); state != nil && state.Enum() != nil {
		out = append(out, apiextensionsv1.CustomResourceColumnDefinition{Name: "State", Type: "string", JSONPath: ".status.state"})
	}
	for _, name := range []protoreflect.Name{"owner", "user", "actor"} {
		field := fields.ByName("spec").Message().Fields().ByName(name)
		if field != nil && field.Message() != nil && field.Message().Name() == "UserInfo" {
			out = append(out, apiextensionsv1.CustomResourceColumnDefinition{
				Name: "Owner", Type: "string", JSONPath: ".spec." + field.JSONName() + ".name",
			})
		}
	}
	return append(out, apiextensionsv1.CustomResourceColumnDefinition{
		Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp",
	})
}

// YAML renders the CRD of a kind in its committed form.
func YAML(kind *registry.Kind) ([]byte, error) {
	definition, err := Definition(kind)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(definition)
	if err != nil {
		return nil, fmt.Errorf("encode CRD of %q: %w", kind.Name, err)
	}
	var content map[string]any
	if err := json.Unmarshal(raw, &content); err != nil {
		return nil, fmt.Errorf("decode CRD of %q: %w", kind.Name, err)
	}
	delete(content, "status")
	out, err := yaml.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("write CRD of %q: %w", kind.Name, err)
	}
	return append([]byte("# Generated from proto/ by go generate. Do not edit.\n---\n"), out...), nil
}
