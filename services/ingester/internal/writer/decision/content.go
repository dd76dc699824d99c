package decision

import (
	"bytes"
	"encoding/json"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/jsonvalue"
)

// SameContent reports whether two forms of an object differ only in fields that the API
// server changes while the object is terminating. a may come from MySQL, which rewrites numbers.
func SameContent(a, b []byte) (bool, error) {
	x, err := normalized(a)
	if err != nil {
		return false, err
	}
	y, err := normalized(b)
	if err != nil {
		return false, err
	}
	return jsonvalue.Equal(x, y), nil
}

// normalized decodes an object without the fields that change while it is terminating.
func normalized(object []byte) (map[string]any, error) {
	var tree map[string]any
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber() // as floats two large integers may look equal
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	if meta, ok := tree["metadata"].(map[string]any); ok {
		for _, field := range []string{
			"resourceVersion", "generation", "managedFields",
			"finalizers", "deletionTimestamp", "deletionGracePeriodSeconds",
		} {
			delete(meta, field)
		}
	}
	return tree, nil
}
