package query

import (
	"math"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/wire"
)

// maxText is the maximum size of one text value in bytes; no column is as wide.
const maxText = 4096

// Value converts a caller's value to the Go type of the column: string, int64,
// float64, bool or time.Time in UTC. Text is accepted for every type, in the form in which it is
// written in JSON or in a selector. Nil is not a value.
func (f *Field) Value(v any) (any, error) {
	out, reason := f.convert(v)
	if reason != "" {
		return nil, invalid("value of field %q: %s", f.names[0], reason)
	}
	return out, nil
}

func (f *Field) convert(v any) (out any, reason string) {
	if v == nil {
		return nil, "is required"
	}
	switch f.Type {
	case registry.Enum:
		return f.enumValue(v)
	case registry.Int:
		return intValue(v)
	case registry.Float:
		return floatValue(v)
	case registry.Bool:
		return boolValue(v)
	case registry.Time:
		return timeValue(v)
	default:
		return textValue(v)
	}
}

func textValue(v any) (any, string) {
	s, reason := readText(v)
	if reason != "" {
		return nil, reason
	}
	return s, ""
}

func readText(v any) (string, string) {
	if v == nil {
		return "", "is required"
	}
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.String {
		return "", "got " + r.Type().String() + ", want string"
	}
	s := r.String()
	switch {
	case !utf8.ValidString(s):
		return "", "text is not valid UTF-8"
	case len(s) > maxText:
		return "", "is longer than " + strconv.Itoa(maxText) + " bytes"
	}
	return s, ""
}

func (f *Field) enumValue(v any) (any, string) {
	r := reflect.ValueOf(v)
	given := v
	switch {
	case r.CanInt():
		given = r.Int()
	case r.Kind() == reflect.String:
		given = r.String()
	}
	value, err := wire.EnumValue(f.Enum, given)
	if err != nil {
		return nil, show(v) + " is not a value of enum " + string(f.Enum.Name())
	}
	return string(value.Name()), ""
}

func intValue(v any) (any, string) {
	r := reflect.ValueOf(v)
	switch {
	case r.CanInt():
		return r.Int(), ""
	case r.CanUint() && r.Uint() <= math.MaxInt64:
		return int64(r.Uint()), "" //nolint:gosec // the range is checked
	case r.CanFloat() && r.Float() == math.Trunc(r.Float()) && math.Abs(r.Float()) <= 1<<53:
		return int64(r.Float()), ""
	case r.Kind() == reflect.String:
		if n, err := strconv.ParseInt(r.String(), 10, 64); err == nil {
			return n, ""
		}
	}
	return nil, "got " + show(v) + ", want integer"
}

func floatValue(v any) (any, string) {
	r := reflect.ValueOf(v)
	f := math.NaN()
	switch {
	case r.CanInt():
		f = float64(r.Int())
	case r.CanUint():
		f = float64(r.Uint())
	case r.CanFloat():
		f = r.Float()
	case r.Kind() == reflect.String:
		if parsed, err := strconv.ParseFloat(r.String(), 64); err == nil {
			f = parsed
		}
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, "got " + show(v) + ", want a finite number"
	}
	return f, ""
}

func boolValue(v any) (any, string) {
	r := reflect.ValueOf(v)
	switch {
	case r.Kind() == reflect.Bool:
		return r.Bool(), ""
	case r.Kind() == reflect.String && r.String() == "true":
		return true, ""
	case r.Kind() == reflect.String && r.String() == "false":
		return false, ""
	}
	return nil, "got " + show(v) + ", want true or false"
}

func timeValue(v any) (any, string) {
	t, ok := instant(v)
	if !ok {
		return nil, "got " + show(v) + ", want a time like 2026-11-21T04:42:00Z"
	}
	t = t.UTC().Truncate(time.Microsecond)
	if t.Year() < wire.FirstYear || t.Year() > wire.LastYear {
		return nil, "time " + t.Format(time.RFC3339) + " is out of range"
	}
	return t, ""
}

// instant converts times of Go, Kubernetes and both families of generated protobuf code.
func instant(v any) (time.Time, bool) {
	switch t := v.(type) {
	case time.Time:
		return t, true
	case metav1.Time:
		return t.Time, true
	case metav1.MicroTime:
		return t.Time, true
	case string:
		parsed, err := time.Parse(time.RFC3339Nano, t)
		return parsed, err == nil
	}
	return protobufTime(v)
}

func protobufTime(v any) (time.Time, bool) {
	if r := reflect.ValueOf(v); r.Kind() == reflect.Pointer && r.IsNil() {
		return time.Time{}, false
	}
	switch t := v.(type) {
	case *time.Time:
		return *t, true
	case *metav1.Time:
		return t.Time, true
	case *metav1.MicroTime:
		return t.Time, true
	case interface {
		GetSeconds() int64
		GetNanos() int32
	}:
		return time.Unix(t.GetSeconds(), int64(t.GetNanos())), true
	}
	return time.Time{}, false
}

// show formats a value for an error, shortened.
func show(v any) string {
	if r := reflect.ValueOf(v); r.Kind() == reflect.String {
		return strconv.Quote(clip(r.String()))
	}
	return reflect.TypeOf(v).String()
}

// Override converts a value that the caller gives for an indexed column, in place of the value
// of the object. Nil, also a nil pointer, is NULL.
func (f *Field) Override(v any) (any, error) {
	if v == nil {
		return nil, nil // NULL
	}
	r := reflect.ValueOf(v)
	if r.Kind() == reflect.Pointer {
		if r.IsNil() {
			return nil, nil // NULL
		}
		if f.Type != registry.Time {
			v = r.Elem().Interface()
		}
	}
	out, err := f.Value(v)
	if err != nil {
		return nil, err
	}
	if s, ok := out.(string); ok && f.Width > 0 && utf8.RuneCountInString(s) > f.Width {
		return nil, invalid("value of field %q: must have at most %d characters (column %s)", f.names[0], f.Width, f.Column)
	}
	return out, nil
}
