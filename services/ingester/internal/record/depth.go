package record

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Deepest returns the path of the most deeply nested value of a JSON document, for example
// "spec.values[2].a", and the number of objects and lists around it, itself included if it is one.
func Deepest(document string) (path string, levels int, err error) {
	var content any
	decoder := json.NewDecoder(strings.NewReader(document))
	decoder.UseNumber()
	if err := decoder.Decode(&content); err != nil {
		return "", 0, fmt.Errorf("decode JSON: %w", err)
	}
	steps, levels := deepest(content)
	return strings.TrimPrefix(strings.Join(steps, ""), "."), levels, nil
}

// deepest returns the steps to the value and its level.
func deepest(v any) (steps []string, levels int) {
	visit := func(step string, child any) {
		rest, n := deepest(child)
		if n+1 > levels || n+1 == levels && (len(steps) == 0 || step < steps[0]) {
			steps, levels = append([]string{step}, rest...), n+1
		}
	}
	switch v := v.(type) {
	case map[string]any:
		levels = 1
		for key, child := range v {
			visit("."+key, child)
		}
	case []any:
		levels = 1
		for i, child := range v {
			visit("["+strconv.Itoa(i)+"]", child)
		}
	}
	return steps, levels
}
