// Package accounts creates the service accounts of the services in the stack, with only the permissions that their
// charts grant.
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

// Label is the label of all installed documents; its value is the version of the list that contains them.
const Label = "stack.flotilla.dev/accounts"

// hookAnnotation marks objects that Helm installs only for a hook.
const hookAnnotation = "helm.sh/hook"

// namespaced reports for each supported kind whether it is namespaced.
var namespaced = map[string]bool{
	"ServiceAccount": true, "Role": true, "RoleBinding": true, "ClusterRole": false, "ClusterRoleBinding": false,
}

// Documents returns the ServiceAccounts, roles and bindings of a rendered chart, except those of hooks. It returns an
// error if the chart has no account of the given name.
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
			return nil, fmt.Errorf("read the rendered chart of %s: %w", name, err)
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

// List labels the documents and returns them as a JSON list for kubectl, with the value of the label. Equal documents
// have equal values, so objects with another value belong to an earlier list.
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
