// Package jsonvalue compares decoded JSON by value: MySQL rewrites numbers, so that 1e+21 becomes 1e21. It is pure.
package jsonvalue

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Equal reports whether two values are equal.
func Equal(a, b any) bool {
	_, differs := Difference(a, b)
	return !differs
}

// Difference returns the path of the first value that differs, relative to the values: "" for themselves.
func Difference(a, b any) (path string, differs bool) {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return "", true
		}
		return objects(x, y)
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return "", true
		}
		for i := range x {
			if path, differs := Difference(x[i], y[i]); differs {
				return fmt.Sprintf("[%d]%s", i, path), true
			}
		}
		return "", false
	}
	return "", a != b && !sameNumber(a, b)
}

func objects(x, y map[string]any) (path string, differs bool) {
	for _, key := range slices.Sorted(maps.Keys(y)) {
		if _, ok := x[key]; !ok {
			return "." + key, true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(x)) {
		other, ok := y[key]
		if !ok {
			return "." + key, true
		}
		if path, differs := Difference(x[key], other); differs {
			return "." + key + path, true
		}
	}
	return "", false
}

// sameNumber compares integers exactly, since as floats two large ones may look equal, and other numbers as floats.
func sameNumber(a, b any) bool {
	x, okX := text(a)
	y, okY := text(b)
	if !okX || !okY {
		return false
	}
	if isInteger(x) && isInteger(y) {
		return x == y
	}
	f, errX := strconv.ParseFloat(x, 64)
	g, errY := strconv.ParseFloat(y, 64)
	return errX == nil && errY == nil && f == g
}

// text returns a number as text, in which equal 64-bit integers are equal.
func text(v any) (string, bool) {
	switch n := v.(type) {
	case int64:
		return strconv.FormatInt(n, 10), true
	case float64:
		return strconv.FormatFloat(n, 'g', -1, 64), true
	case json.Number:
		if n == "-0" {
			return "0", true
		}
		return n.String(), true
	}
	return "", false
}

func isInteger(s string) bool {
	if _, err := strconv.ParseInt(s, 10, 64); err == nil {
		return true
	}
	_, err := strconv.ParseUint(s, 10, 64)
	return err == nil
}
