package wire

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/randfill"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
)

// generator generates random objects with the expected result of [decoded].
type generator struct{ r *rand.Rand }

const maxDepth = 6

// object generates a whole object.
func (g generator) object(d protoreflect.MessageDescriptor) (in, want map[string]any) {
	in, want = g.message(d, 0)
	typeMeta := metav1.TypeMeta{APIVersion: api.GroupVersion, Kind: string(d.Name())}
	delete(in, "typeMeta")
	delete(in, "type_meta")
	in["apiVersion"], in["kind"] = typeMeta.APIVersion, typeMeta.Kind
	want["typeMeta"] = must(canonical(&typeMeta))
	return in, want
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (g generator) message(d protoreflect.MessageDescriptor, depth int) (in, want map[string]any) {
	in, want = map[string]any{}, map[string]any{}
	whole := slices.Contains(api.Kinds(), string(d.Name())) // its four parts are always written
	chosen := map[protoreflect.Name]int{}
	for i := range d.Oneofs().Len() {
		chosen[d.Oneofs().Get(i).Name()] = g.r.IntN(d.Oneofs().Get(i).Fields().Len() + 1)
	}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		name := f.JSONName()
		if !whole && g.r.IntN(8) == 0 {
			name = string(f.Name())
		}
		if oneof := f.ContainingOneof(); oneof != nil {
			if chosen[oneof.Name()] == indexIn(oneof, f) {
				in[name], want[f.JSONName()], _ = g.value(f, depth)
			}
			continue
		}
		if g.r.IntN(3) == 0 || (f.Message() != nil && depth > maxDepth) {
			if whole {
				want[f.JSONName()] = empty(f.Message())
			} else if g.r.IntN(4) == 0 {
				in[name] = nil
			}
			continue
		}
		value, meaning, written := g.field(f, depth)
		in[name] = value
		if written || whole {
			want[f.JSONName()] = meaning
		}
	}
	return in, want
}

func indexIn(oneof protoreflect.OneofDescriptor, f protoreflect.FieldDescriptor) int {
	for i := range oneof.Fields().Len() {
		if oneof.Fields().Get(i).Number() == f.Number() {
			return i
		}
	}
	return -1
}

// empty returns the decoded form of an absent part of an object.
func empty(d protoreflect.MessageDescriptor) any {
	if fresh, ok := goMessages[d.FullName()]; ok {
		return must(canonical(fresh()))
	}
	return map[string]any{}
}

// field generates a field's JSON form, its decoded form, and whether it is written at all.
func (g generator) field(f protoreflect.FieldDescriptor, depth int) (in, want any, written bool) {
	n := g.r.IntN(3)
	switch {
	case f.IsMap():
		ins, wants := map[string]any{}, map[string]any{}
		for range n {
			key := g.text()
			ins[key], wants[key], _ = g.value(f.MapValue(), depth+1)
		}
		return ins, wants, n > 0
	case f.IsList():
		ins, wants := []any{}, []any{}
		for range n {
			element, meaning, _ := g.value(f, depth+1)
			ins, wants = append(ins, element), append(wants, meaning)
		}
		return ins, wants, n > 0
	}
	in, want, zero := g.value(f, depth)
	return in, want, f.Message() != nil || !zero
}

func (g generator) value(f protoreflect.FieldDescriptor, depth int) (in, want any, zero bool) {
	switch f.Kind() {
	case protoreflect.StringKind:
		s := g.text()
		return s, s, s == ""
	case protoreflect.BoolKind:
		b := g.r.IntN(2) == 0
		return b, b, !b
	case protoreflect.Int32Kind:
		return g.integer(pick(g.r, 0, 1, -1, math.MaxInt32, math.MinInt32, int64(int32(g.r.Uint32()))))
	case protoreflect.Int64Kind:
		return g.integer(pick(g.r, 0, 1, -1, math.MaxInt64, math.MinInt64, int64(g.r.Uint64())))
	case protoreflect.DoubleKind:
		v := pick(g.r, 0, 1, -0.5, math.MaxFloat64, g.r.NormFloat64())
		return v, v, v == 0
	case protoreflect.FloatKind:
		v := float64(float32(pick(g.r, 0, 1, -0.5, math.MaxFloat32, g.r.NormFloat64())))
		return v, v, v == 0
	case protoreflect.EnumKind:
		v := f.Enum().Values().Get(g.r.IntN(f.Enum().Values().Len()))
		if g.r.IntN(5) == 0 {
			return int64(v.Number()), string(v.Name()), v.Number() == 0
		}
		return string(v.Name()), string(v.Name()), v.Number() == 0
	case protoreflect.MessageKind:
		in, want = g.special(f.Message(), depth+1)
		return in, want, false
	}
	panic(fmt.Sprintf("no random value for %v", f.Kind()))
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

func (g generator) integer(n int64) (in, want any, zero bool) {
	if g.r.IntN(2) == 0 {
		return strconv.FormatInt(n, 10), n, n == 0
	}
	return n, n, n == 0
}

func (g generator) text() string {
	return pick(g.r, "", "a", "Grüße", "日本", "line\nline", "\u0000", fmt.Sprint(g.r.Uint32()))
}

// special generates a message: of google.protobuf, of Kubernetes, or of the kinds.
func (g generator) special(d protoreflect.MessageDescriptor, depth int) (in, want any) {
	if fresh, ok := goMessages[d.FullName()]; ok {
		return g.kubernetes(fresh())
	}
	switch d.FullName() {
	case "google.protobuf.Timestamp":
		at := time.Unix(g.r.Int64N(4e9)-1e9, g.r.Int64N(2)*g.r.Int64N(1e9))
		zone := time.FixedZone("", 60*(g.r.IntN(1400)-700))
		return at.In(zone).Format(time.RFC3339Nano), at.UTC().Format(time.RFC3339Nano)
	case "google.protobuf.Duration":
		length := time.Duration(g.r.Int64N(2e15) - 1e15)
		return length.String(), length.String()
	case "google.protobuf.Any":
		raw := base64.StdEncoding.EncodeToString([]byte(g.text()))
		url := "type.example.com/" + g.text()
		return map[string]any{"@type": url, "value": raw}, map[string]any{"@type": url, "value": raw}
	case "google.protobuf.Struct":
		return g.structure(depth)
	}
	return g.message(d, depth)
}

func (g generator) structure(depth int) (in, want any) {
	ins, wants := map[string]any{}, map[string]any{}
	for range g.r.IntN(4) {
		key := g.text()
		ins[key], wants[key] = g.randomValue(depth + 1)
	}
	return ins, wants
}

func (g generator) randomValue(depth int) (in, want any) {
	choice := g.r.IntN(7)
	if depth > maxDepth {
		choice %= 5
	}
	switch choice {
	case 0:
		return nil, nil
	case 1:
		return true, true
	case 2:
		n := g.r.Int64N(1 << 50)
		return n, float64(n)
	case 3:
		return 0.25, 0.25
	case 4:
		s := g.text()
		return s, s
	case 5:
		return g.structure(depth)
	}
	ins, wants := []any{}, []any{}
	for range g.r.IntN(3) {
		i, w := g.randomValue(depth + 1)
		ins, wants = append(ins, i), append(wants, w)
	}
	return ins, wants
}

// kubernetes fills a Go type of Kubernetes; its JSON is that of the API server.
func (g generator) kubernetes(typed any) (in, want any) {
	filler := randfill.NewWithSeed(g.r.Int64()).NilChance(0.8).NumElements(1, 2).Funcs(
		func(q *resource.Quantity, _ randfill.Continue) {
			*q = resource.MustParse(pick(g.r, "100m", "2Gi", "0", "1500", "3e6"))
		},
		func(v *intstr.IntOrString, _ randfill.Continue) {
			*v = pick(g.r, intstr.FromInt32(0), intstr.FromInt32(8080), intstr.FromString("http"))
		},
		func(v *metav1.Time, _ randfill.Continue) { *v = metav1.Unix(g.r.Int64N(4e9), 0).Rfc3339Copy() },
		func(v *metav1.FieldsV1, _ randfill.Continue) { v.SetRawString(`{"f:spec":{"f:a":{}}}`) },
	)
	filler.Fill(typed)
	text := must(canonical(typed))
	var content any
	_, raw, _ := strings.Cut(text, " ")
	if err := utiljson.Unmarshal([]byte(raw), &content); err != nil {
		panic(err)
	}
	return content, text
}
