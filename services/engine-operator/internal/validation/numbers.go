package validation

import (
	"math"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// isRounded warns of a number that the API server truncates to 17 digits.
const isRounded = "the number needs more than 64 bits and lost digits; write it as a string"

// rounded lists the numbers of an engine's configuration that the API server truncated.
func rounded(config *apiextensionsv1.JSON) field.ErrorList {
	if config == nil {
		return nil
	}
	var tree any
	if err := json.Unmarshal(config.Raw, &tree); err != nil {
		return nil // rendering reports the error
	}
	var out field.ErrorList
	checkPrecision(field.NewPath("spec", "customEngineConfig"), tree, &out)
	return out
}

func checkPrecision(at *field.Path, v any, out *field.ErrorList) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			checkPrecision(at.Child(k), e, out)
		}
	case []any:
		for i, e := range v {
			checkPrecision(at.Index(i), e, out)
		}
	case float64:
		if math.Abs(v) >= 1<<63 {
			*out = append(*out, field.Invalid(at, v, isRounded))
		}
	}
}
