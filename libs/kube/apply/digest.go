package apply

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// DigestData is a transform for caches of ConfigMaps. It replaces each value of data by its digest, which is all that an
// [Applier] compares: files are most of the memory of a fleet's ConfigMaps. Nothing else may read the data, and no update
// may write it back.
func DigestData(obj any) (any, error) {
	c, ok := obj.(*corev1.ConfigMap)
	if !ok || len(c.Data) == 0 {
		return obj, nil
	}
	if _, repeated := c.Data[isDigested]; repeated { // informers transform some objects twice
		return obj, nil
	}
	for key, value := range c.Data {
		c.Data[key] = digest(value)
	}
	c.Data[isDigested] = ""
	return obj, nil
}

// isDigested is a key of digested data. The API server accepts no such key, so no object has one otherwise.
const isDigested = "#digested"

func digest(value string) string {
	sum := sha256.Sum256([]byte(value))
	return base64.RawStdEncoding.EncodeToString(sum[:])
}

// digested returns the content of a ConfigMap with digests instead of data, so that the content from a cache with
// [DigestData] and that from the API server compare equal. It does not change content, and returns that of other kinds.
func (c config) digested(content map[string]any) map[string]any {
	data, isMap := content["data"].(map[string]any)
	if _, repeated := data[isDigested]; repeated || !isMap || c.content.GroupVersionKind() != corev1.SchemeGroupVersion.WithKind("ConfigMap") {
		return content
	}
	data = maps.Clone(data)
	for key, value := range data {
		if text, isString := value.(string); isString {
			data[key] = digest(text)
		}
	}
	content = maps.Clone(content)
	content["data"] = data
	return content
}
