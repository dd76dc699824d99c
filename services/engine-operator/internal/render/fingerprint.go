package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Fingerprint hashes the whole rendering, independent of the number of the generation.
//
// It is stable across releases that render the same objects: unset fields do not
// count, so a new field of a later Kubernetes library does not change it. Equal
// quantities hash equally in any notation.
func Fingerprint(in Input) (string, error) {
	in.Generation = 0
	settings, err := json.Marshal(config(in)) // sorts its keys
	if err != nil {
		return "", fmt.Errorf("hash configuration of engine %q: %w", in.Engine.Name, err)
	}
	set := statefulSet(in)
	headless := Headless(in.Engine.Namespace, in.Engine.Name, 0)
	return hashOf(string(settings), headless.Spec, set.Labels, set.Annotations, set.Spec), nil
}

// hashOf returns the first 16 hexadecimal digits of the SHA-256 of the parts.
func hashOf(parts ...any) string {
	d := &digest{}
	for _, part := range parts {
		d.value(reflect.ValueOf(part))
	}
	sum := sha256.Sum256(d.written)
	return hex.EncodeToString(sum[:])[:16]
}

// digest encodes values of the Kubernetes API for hashing.
type digest struct{ written []byte }

// text writes a string with its length, so that different sequences of strings differ.
func (d *digest) text(s string) {
	d.written = strconv.AppendInt(d.written, int64(len(s)), 10)
	d.written = append(d.written, ':')
	d.written = append(d.written, s...)
}

func (d *digest) number(n int64) {
	d.written = strconv.AppendInt(d.written, n, 10)
	d.written = append(d.written, ';')
}

func (d *digest) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		d.object(v)
	case reflect.Pointer:
		d.value(v.Elem())
	case reflect.Slice:
		d.number(int64(v.Len()))
		for i := range v.Len() {
			d.value(v.Index(i))
		}
	case reflect.Map:
		d.sorted(v)
	case reflect.Bool:
		d.written = strconv.AppendBool(d.written, v.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		d.number(v.Int())
	default:
		d.text(v.String())
	}
}

// object writes the fields that are set, by their API names. A nil pointer
// is not set; a pointer to an empty object is. It reports whether it has written anything.
func (d *digest) object(v reflect.Value) bool {
	switch v.Type() {
	case quantity:
		q, _ := reflect.TypeAssert[resource.Quantity](v)
		d.text(canonicalQuantity(q))
		return q.Sign() != 0
	case timestamp:
		return false
	}
	d.written = append(d.written, '{')
	empty := true
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() && d.field(fieldName(v.Type().Field(i)), f) {
			empty = false
		}
	}
	d.written = append(d.written, '}')
	return !empty
}

// field writes a field unless it is empty in the form that an API server stores.
func (d *digest) field(name string, f reflect.Value) bool {
	before := len(d.written)
	d.text(name)
	switch f.Kind() {
	case reflect.Struct:
		if !d.object(f) {
			d.written = d.written[:before]
			return false
		}
		return true
	case reflect.Slice, reflect.Map:
		if f.Len() == 0 {
			d.written = d.written[:before]
			return false
		}
	}
	d.value(f)
	return true
}

func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// canonicalQuantity returns the canonical form of a quantity, as the API server stores it.
func canonicalQuantity(q resource.Quantity) string {
	q = q.DeepCopy()
	q.RoundUp(resource.Milli)
	text := q.AsDec().String()
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

func (d *digest) sorted(v reflect.Value) {
	keys := make([]string, 0, v.Len())
	byKey := make(map[string]reflect.Value, v.Len())
	for entries := v.MapRange(); entries.Next(); {
		k := entries.Key().String()
		keys = append(keys, k)
		byKey[k] = entries.Value()
	}
	slices.Sort(keys)
	d.number(int64(len(keys)))
	for _, k := range keys {
		d.text(k)
		d.value(byKey[k])
	}
}
