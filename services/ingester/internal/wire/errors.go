package wire

import (
	"errors"
	"fmt"
	"strings"
)

// FieldError names the field of an object that has no protobuf form, and the reason.
type FieldError struct {
	// Path is the JSON path, for example "spec.qualityScores[2].value".
	Path   string
	Reason string
}

// Error implements error.
func (e *FieldError) Error() string { return fmt.Sprintf("field %s: %s", e.Path, e.Reason) }

func fieldError(path, reason string) error {
	return &FieldError{Path: strings.ToValidUTF8(path, "?"), Reason: reason}
}

// Invalid returns a FieldError without a path; [Within] adds it.
func Invalid(format string, args ...any) error {
	return &FieldError{Reason: fmt.Sprintf(format, args...)}
}

// Within puts a parent's key in front of the path of a FieldError.
func Within(key string, err error) error {
	if err == nil {
		return nil
	}
	var field *FieldError
	if !errors.As(err, &field) {
		return fmt.Errorf("field %s: %w", key, err)
	}
	path := key
	switch {
	case field.Path == "":
	case field.Path[0] == '[':
		path += field.Path
	default:
		path += "." + field.Path
	}
	return fieldError(path, field.Reason)
}
