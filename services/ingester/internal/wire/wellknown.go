package wire

import (
	"fmt"
	"math"
	"sort"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// wellKnown are the messages of google.protobuf that kinds may use. Each has a special JSON form.
// It is filled in init because Struct contains itself.
var wellKnown map[protoreflect.FullName]encodeFunc

func init() {
	wellKnown = map[protoreflect.FullName]encodeFunc{
		"google.protobuf.Timestamp": appendTimestamp,
		"google.protobuf.Duration":  appendDuration,
		"google.protobuf.Struct":    appendStruct,
		"google.protobuf.Value":     appendValue,
		"google.protobuf.Any":       appendAny,
	}
}

// FirstYear and LastYear bound the times that are stored, as those of google.protobuf.Timestamp. MySQL and MariaDB
// document DATETIME from the year 1000 on, but store and compare earlier ones too.
const (
	FirstYear = 1
	LastYear  = 9999
)

// Time reads a point in time from RFC 3339 text.
func Time(v any) (time.Time, error) {
	s, ok := v.(string)
	if !ok {
		return time.Time{}, Invalid("got %T, want time", v)
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, Invalid("got %q, want a time like 2006-01-02T15:04:05Z", s)
	}
	if t = t.UTC(); t.Year() < FirstYear || t.Year() > LastYear {
		return time.Time{}, Invalid("year of %q is not within %d to %d", s, FirstYear, LastYear)
	}
	return t, nil
}

func appendTimestamp(b []byte, v any) ([]byte, error) {
	t, err := Time(v)
	if err != nil {
		return nil, err
	}
	return appendSecondsNanos(b, t.Unix(), int64(t.Nanosecond())), nil
}

func appendDuration(b []byte, v any) ([]byte, error) {
	s, ok := v.(string)
	if !ok {
		return nil, Invalid("got %T, want duration", v)
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return nil, Invalid("got %q, want a duration like 1.5s", s)
	}
	return appendSecondsNanos(b, int64(d/time.Second), int64(d%time.Second)), nil
}

// appendSecondsNanos writes the two fields that Timestamp and Duration share.
func appendSecondsNanos(b []byte, seconds, nanos int64) []byte {
	if seconds != 0 {
		b = protowire.AppendTag(b, 1, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(seconds)) //nolint:gosec // two's complement
	}
	if nanos != 0 {
		b = protowire.AppendTag(b, 2, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(nanos)) //nolint:gosec // two's complement
	}
	return b
}

// appendAny encodes {"@type": url, "value": base64}.
func appendAny(b []byte, v any) ([]byte, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, Invalid("got %T, want object", v)
	}
	for key := range object {
		if key != "@type" && key != "value" {
			return nil, fieldError(key, "unknown field of google.protobuf.Any")
		}
	}
	var err error
	if url := object["@type"]; url != nil && url != "" {
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		if b, err = appendSized(b, url, appendString); err != nil {
			return nil, Within("@type", err)
		}
	}
	if value := object["value"]; value != nil && value != "" {
		b = protowire.AppendTag(b, 2, protowire.BytesType)
		if b, err = appendSized(b, value, appendBytes); err != nil {
			return nil, Within("value", err)
		}
	}
	return b, nil
}

func appendStruct(b []byte, v any) ([]byte, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, Invalid("got %T, want object", v)
	}
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		entry := func(b []byte, value any) ([]byte, error) {
			b = protowire.AppendTag(b, 1, protowire.BytesType)
			b, err := appendSized(b, key, appendString)
			if err != nil {
				return nil, err
			}
			b = protowire.AppendTag(b, 2, protowire.BytesType)
			return appendSized(b, value, appendValue)
		}
		var err error
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		if b, err = appendSized(b, object[key], entry); err != nil {
			return nil, Within(key, err)
		}
	}
	return b, nil
}

// appendValue writes the one field of google.protobuf.Value that fits the JSON value.
func appendValue(b []byte, v any) ([]byte, error) {
	switch value := v.(type) {
	case nil:
		return protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.VarintType), 0), nil
	case string:
		return appendSized(protowire.AppendTag(b, 3, protowire.BytesType), value, appendString)
	case bool:
		return appendBool(protowire.AppendTag(b, 4, protowire.VarintType), value)
	case map[string]any:
		return appendSized(protowire.AppendTag(b, 5, protowire.BytesType), value, appendStruct)
	case []any:
		return appendSized(protowire.AppendTag(b, 6, protowire.BytesType), value, appendListValue)
	}
	f, err := Float(v)
	if err != nil {
		return nil, err
	}
	return protowire.AppendFixed64(protowire.AppendTag(b, 2, protowire.Fixed64Type), math.Float64bits(f)), nil
}

func appendListValue(b []byte, v any) ([]byte, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, Invalid("got %T, want list", v)
	}
	for i, element := range list {
		var err error
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		if b, err = appendSized(b, element, appendValue); err != nil {
			return nil, Within(fmt.Sprintf("[%d]", i), err)
		}
	}
	return b, nil
}
