package wire

import (
	"fmt"
	"math"
	"sort"
	"unicode/utf8"
)

// inspect checks for values that the Go types of Kubernetes accept silently: text that is
// not UTF-8 is an error, and wide reports whether there is a number that not every
// integer field can hold.
func inspect(v any) (wide bool, err error) {
	switch value := v.(type) {
	case string:
		if !utf8.ValidString(value) {
			return false, Invalid("text is not valid UTF-8")
		}
	case int64:
		return value < math.MinInt32 || value > math.MaxInt32, nil
	case []any:
		for i, element := range value {
			w, err := inspect(element)
			if err != nil {
				return false, Within(fmt.Sprintf("[%d]", i), err)
			}
			wide = wide || w
		}
	case map[string]any:
		return inspectMap(value)
	}
	return wide, nil
}

func inspectMap(object map[string]any) (wide bool, err error) {
	var bad []string
	for key, v := range object {
		if !utf8.ValidString(key) {
			bad = append(bad, key)
			continue
		}
		w, err := inspect(v)
		if err != nil {
			bad = append(bad, key)
		}
		wide = wide || w
	}
	if len(bad) == 0 {
		return wide, nil
	}
	sort.Strings(bad) // equal objects have the same error
	if _, err = inspect(object[bad[0]]); err == nil || !utf8.ValidString(bad[0]) {
		err = Invalid("text is not valid UTF-8")
	}
	return false, Within(bad[0], err)
}
