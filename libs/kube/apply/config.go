package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// config is the apply configuration of one desired object.
type config struct {
	content *unstructured.Unstructured // copied for each request: the response overwrites the object that was sent
	hash    string
}

func (c config) kind() string { return c.content.GetKind() }

func (c config) fresh() *unstructured.Unstructured { return c.content.DeepCopy() }

func (a *Applier) configure(owner, desired client.Object) (config, error) {
	if isNil(owner) || owner.GetUID() == "" {
		return config{}, errors.New("the owner has no uid: it was not read from the API server")
	}
	if desired.GetName() == "" {
		return config{}, errors.New("the object has no name")
	}
	gvk, err := a.client.GroupVersionKindFor(desired)
	if err != nil {
		return config{}, err
	}
	content, err := toMap(desired)
	if err != nil {
		return config{}, err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	if err := controllerutil.SetControllerReference(owner, u, a.client.Scheme()); err != nil {
		return config{}, err
	}
	hash, err := hashOf(u)
	if err != nil {
		return config{}, err
	}
	return config{content: u, hash: hash}, nil
}

// toMap converts desired into an apply configuration: without the status, the fields that
// only the API server sets, and the nulls that typed objects encode.
func toMap(desired client.Object) (map[string]any, error) {
	if secret, ok := desired.(*corev1.Secret); ok && len(secret.StringData) > 0 {
		// The API server moves stringData into data, and only data can be compared.
		secret = secret.DeepCopy()
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		for k, v := range secret.StringData {
			secret.Data[k] = []byte(v)
		}
		secret.StringData = nil
		desired = secret
	}
	content, err := jsonOf(desired)
	if err != nil {
		return nil, err
	}
	delete(content, "status")
	dropNulls(content)
	for _, field := range []string{
		"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation",
		"managedFields", "resourceVersion", "selfLink", "uid",
	} {
		unstructured.RemoveNestedField(content, "metadata", field)
	}
	return content, nil
}

func jsonOf(obj client.Object) (map[string]any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		// Renderers write plain Go numbers; comparisons and DeepCopy require those of JSON.
		raw, err := json.Marshal(u.Object)
		if err != nil {
			return nil, fmt.Errorf("encode: %w", err)
		}
		out := map[string]any{}
		return out, utiljson.Unmarshal(raw, &out)
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
}

// dropNulls also drops the zero targetPort of a Service: a typed object cannot leave
// it out, and the API server replaces it.
func dropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, field := range v {
			if field == nil || k == "targetPort" && field == int64(0) {
				delete(v, k)
				continue
			}
			dropNulls(field)
		}
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
}

// hashOf returns a stable hash: encoding/json sorts the keys of objects.
func hashOf(u *unstructured.Unstructured) (string, error) {
	raw, err := json.Marshal(u.Object)
	if err != nil {
		return "", fmt.Errorf("hash: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:12]), nil
}
