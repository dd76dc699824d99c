package compat

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/test/compat/frozen"
)

// releases returns the releases with which this one must be compatible.
func releases(t *testing.T) []frozen.Release {
	t.Helper()
	dirs, err := filepath.Glob("testdata/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("testdata holds no release, %v", err)
	}
	out := make([]frozen.Release, len(dirs))
	for i, dir := range dirs {
		out[i] = frozen.Release{Dir: dir}
	}
	return out
}

// read returns files of a release. It fails the test if there are none.
func read(t *testing.T, r frozen.Release, dir, prefix string) map[string][]byte {
	t.Helper()
	files, err := r.Read(dir, prefix)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func parse(t *testing.T, raw []byte) any {
	t.Helper()
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// plain converts a value to the types of decoded JSON, in which all numbers have one type.
func plain(t *testing.T, value any) any {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, raw)
}

// removed lists the values of was that is lacks. is may have additional values.
func removed(was, is any, path string) []string {
	var out []string
	switch w := was.(type) {
	case map[string]any:
		i, _ := is.(map[string]any)
		for key, value := range w {
			there, ok := i[key]
			if !ok && !empty(value) {
				out = append(out, path+"."+key)
				continue
			}
			if ok {
				out = append(out, removed(value, there, path+"."+key)...)
			}
		}
		return out
	case []any:
		i, _ := is.([]any)
		if len(i) != len(w) {
			return []string{fmt.Sprintf("%s: %d items became %d", path, len(w), len(i))}
		}
		for n := range w {
			out = append(out, removed(w[n], i[n], fmt.Sprintf("%s[%d]", path, n))...)
		}
		return out
	}
	if !reflect.DeepEqual(was, is) && !sameTime(was, is) {
		return []string{fmt.Sprintf("%s: %v became %v", path, was, is)}
	}
	return nil
}

// sameTime reports whether two strings are the same duration, such as 30m and 30m0s.
func sameTime(was, is any) bool {
	a, _ := was.(string)
	b, _ := is.(string)
	first, err := time.ParseDuration(a)
	if err != nil {
		return false
	}
	second, err := time.ParseDuration(b)
	return err == nil && first == second
}

// empty reports whether omitting a value has the same meaning.
func empty(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || v.IsZero() || (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.Len() == 0
}

func TestLostReportsRemovedFields(t *testing.T) {
	tests := map[string]struct {
		was, is string
		want    int
	}{
		"the same":            {`{"a":[{"b":1}]}`, `{"a":[{"b":1}]}`, 0},
		"more":                {`{"a":1}`, `{"a":1,"b":2}`, 0},
		"a field is gone":     {`{"a":1,"b":2}`, `{"a":1}`, 1},
		"an empty one is not": {`{"a":1,"b":{}}`, `{"a":1}`, 0},
		"another value":       {`{"a":1}`, `{"a":2}`, 1},
		"the same duration":   {`{"a":"30m"}`, `{"a":"30m0s"}`, 0},
		"another duration":    {`{"a":"30m"}`, `{"a":"30s"}`, 1},
		"an item is gone":     {`{"a":[1,2]}`, `{"a":[1]}`, 1},
		"deep within":         {`{"a":[{"b":{"c":1}}]}`, `{"a":[{"b":{"d":1}}]}`, 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := removed(parse(t, []byte(tc.was)), parse(t, []byte(tc.is)), ""); len(got) != tc.want {
				t.Errorf("lost %q", got)
			}
		})
	}
}
