// Package accounts gives the services of the stack the service accounts that they have in a cluster, with the rights
// that their charts grant, and no others.
package accounts

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// Label is set on all installed documents; its value is the version of the list that they belong to.
const Label = "stack.flotilla.dev/accounts"

// hookAnnotation marks what Helm installs for one of its hooks only.
const hookAnnotation = "helm.sh/hook"

// namespaced reports for each supported kind whether it is namespaced.
var namespaced = map[string]bool{
	"ServiceAccount": true, "Role": true, "RoleBinding": true, "ClusterRole": false, "ClusterRoleBinding": false,
}

// Documents returns the ServiceAccounts, roles and bindings of a rendered chart, those of hooks excepted. A chart
// without an account of the given name is an error.
func Documents(manifest []byte, name, namespace string) ([]map[string]any, error) {
	var documents []map[string]any
	found := false
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), len(manifest)+1)
	for {
		var document map[string]any
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read what the chart of %s renders: %w", name, err)
		}
		kind, _ := document["kind"].(string)
		inNamespace, taken := namespaced[kind]
		metadata, _ := document["metadata"].(map[string]any)
		if !taken || isHook(metadata) {
			continue
		}
		if inNamespace && metadata["namespace"] == nil {
			metadata["namespace"] = namespace
		}
		found = found || kind == "ServiceAccount" && metadata["name"] == name && metadata["namespace"] == namespace
		documents = append(documents, document)
	}
	if !found {
		return nil, fmt.Errorf("the chart of %s renders no ServiceAccount %s/%s", name, namespace, name)
	}
	return documents, nil
}

func isHook(metadata map[string]any) bool {
	annotations, _ := metadata["annotations"].(map[string]any)
	_, hook := annotations[hookAnnotation]
	return hook
}

// List labels the documents and returns them as a JSON list for kubectl, with the label's value. The same documents
// give the same value, so what carries another one was installed by an earlier list.
func List(documents []map[string]any) (list []byte, version string, err error) {
	text, err := json.Marshal(documents)
	if err != nil {
		return nil, "", fmt.Errorf("list the accounts: %w", err)
	}
	sum := sha256.Sum256(text)
	version = hex.EncodeToString(sum[:6])
	for _, document := range documents {
		metadata, ok := document["metadata"].(map[string]any)
		if !ok {
			return nil, "", fmt.Errorf("a %v has no metadata", document["kind"])
		}
		labels, ok := metadata["labels"].(map[string]any)
		if !ok {
			labels = map[string]any{}
			metadata["labels"] = labels
		}
		labels[Label] = version
	}
	list, err = json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": documents})
	return list, version, err
}
