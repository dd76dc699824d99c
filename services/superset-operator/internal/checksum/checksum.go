package checksum

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// Scheme names the method with which this release computes fingerprints.
const Scheme = "flotilla.dev/v1"

// Builder collects named inputs. The zero value is not usable: start with [New].
// Inputs that are absent (nil) and inputs that are empty differ.
type Builder struct{ inputs []byte }

// New starts a fingerprint of the given kind, for example "task/Migrate".
func New(kind string) *Builder {
	b := &Builder{}
	return b.String("scheme", Scheme).String("kind", kind)
}

// String adds a string.
func (b *Builder) String(name, value string) *Builder {
	// Lengths come first, so that no two lists of inputs have the same encoding.
	b.inputs = fmt.Appendf(b.inputs, "%d:%s%d:%s", len(name), name, len(value), value)
	return b
}

// Optional adds a string that may be absent.
func (b *Builder) Optional(name string, value *string) *Builder {
	if value == nil {
		return b
	}
	return b.String(name, *value)
}

// Bool adds a boolean; false counts as absent.
func (b *Builder) Bool(name string, value bool) *Builder {
	if !value {
		return b
	}
	return b.String(name, "true")
}

// Int adds a number that may be absent.
func (b *Builder) Int(name string, value *int32) *Builder {
	if value == nil {
		return b
	}
	return b.String(name, strconv.Itoa(int(*value)))
}

// List adds strings in order; an empty list counts as absent.
func (b *Builder) List(name string, values []string) *Builder {
	for i, value := range values {
		b.String(fmt.Sprintf("%s[%d]", name, i), value)
	}
	return b
}

// Map adds strings by key, sorted; an empty map counts as absent.
func (b *Builder) Map(name string, values map[string]string) *Builder {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		b.String(fmt.Sprintf("%s[%s]", name, key), values[key])
	}
	return b
}

// SecretRef adds the reference to the key of a Secret, never its value.
func (b *Builder) SecretRef(name string, ref *corev1.SecretKeySelector) *Builder {
	if ref == nil {
		return b
	}
	return b.String(name+".name", ref.Name).String(name+".key", ref.Key)
}

// Sum returns the fingerprint as "sha256:" and 64 hexadecimal digits.
func (b *Builder) Sum() string {
	sum := sha256.Sum256(b.inputs)
	return "sha256:" + hex.EncodeToString(sum[:])
}
