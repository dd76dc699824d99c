package validation_test

import (
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// leaf is a field of a pod template.
type leaf struct {
	path string
	of   func(*corev1.PodTemplateSpec) reflect.Value
	fill func(*corev1.PodTemplateSpec)
}

func everyField(primary string) []leaf {
	var out []leaf
	add := func(path string, in func(*corev1.PodTemplateSpec) reflect.Value) {
		of := in(&corev1.PodTemplateSpec{}).Type()
		for i := range of.NumField() {
			at := func(t *corev1.PodTemplateSpec) reflect.Value { return in(t).Field(i) }
			out = append(out, leaf{path + "." + of.Field(i).Name, at, func(t *corev1.PodTemplateSpec) { fill(at(t), of.Field(i).Name) }})
		}
	}
	add("metadata", func(t *corev1.PodTemplateSpec) reflect.Value { return reflect.ValueOf(&t.ObjectMeta).Elem() })
	add("spec", func(t *corev1.PodTemplateSpec) reflect.Value { return reflect.ValueOf(&t.Spec).Elem() })
	add("container", func(t *corev1.PodTemplateSpec) reflect.Value {
		i := slices.IndexFunc(t.Spec.Containers, func(c corev1.Container) bool { return c.Name == primary })
		if i < 0 {
			t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: primary})
			i = len(t.Spec.Containers) - 1
		}
		return reflect.ValueOf(&t.Spec.Containers[i]).Elem()
	})
	return slices.DeleteFunc(out, func(f leaf) bool { return f.path == "container.Name" })
}

// fill sets a value, and all nested values, to content that differs from all defaults.
func fill(v reflect.Value, name string) {
	switch v.Interface().(type) {
	case resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse("7")))
		return
	case intstr.IntOrString:
		v.Set(reflect.ValueOf(intstr.FromInt32(7)))
		return
	case metav1.Time:
		v.Set(reflect.ValueOf(metav1.Unix(7, 0)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("my-" + strings.ToLower(name))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint('7') // bytes are raw JSON
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, name)
		fill(value, name)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), v.Type().Field(i).Name)
			}
		}
	default:
		panic("cannot fill a " + v.Kind().String())
	}
}

// missing returns the first part of want that got lacks: lists and maps may have additional
// entries, all other values are equal.
func missing(want, got reflect.Value) string {
	switch want.Kind() {
	case reflect.Slice:
		for i := range got.Len() {
			if cmp.Diff(want.Index(0).Interface(), got.Index(i).Interface()) == "" {
				return ""
			}
		}
	case reflect.Map:
		for _, key := range want.MapKeys() {
			if have := got.MapIndex(key); have.IsValid() && cmp.Diff(want.MapIndex(key).Interface(), have.Interface()) == "" {
				return ""
			}
		}
	}
	return cmp.Diff(want.Interface(), got.Interface())
}
