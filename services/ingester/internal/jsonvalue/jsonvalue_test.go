package jsonvalue_test

import (
	"bytes"
	"encoding/json"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/jsonvalue"
)

func TestDifference(t *testing.T) {
	const same = "same"
	for name, tc := range map[string]struct{ a, b, want string }{
		"the same":                  {`{"a":[1,"x",null,true,{"b":{}}]}`, `{"a":[1,"x",null,true,{"b":{}}]}`, same},
		"an exponent of MySQL":      {`{"a":1e+21}`, `{"a":1e21}`, same},
		"a fraction of MySQL":       {`[2.0]`, `[2]`, same},
		"a negative zero":           {`[-0]`, `[0]`, same},
		"large integers":            {`{"a":9007199254740993}`, `{"a":9007199254740992}`, ".a"},
		"larger than signed ones":   {`[18446744073709551615]`, `[18446744073709551615]`, same},
		"different floats":          {`[[0.1]]`, `[[0.2]]`, "[0][0]"},
		"a number and its text":     {`{"a":1}`, `{"a":"1"}`, ".a"},
		"a number and a boolean":    {`[1]`, `[true]`, "[0]"},
		"a missing key":             {`{"a":{"b":1}}`, `{"a":{}}`, ".a.b"},
		"an additional key":         {`{"a":{}}`, `{"a":{"b":null}}`, ".a.b"},
		"the first of several":      {`{"b":1,"a":1}`, `{"b":2,"a":2}`, ".a"},
		"a longer list":             {`{"a":[1]}`, `{"a":[1,2]}`, ".a"},
		"an object and a list":      {`{"a":{}}`, `{"a":[]}`, ".a"},
		"a value and an object":     {`{"a":1}`, `{"a":{}}`, ".a"},
		"other values":              {`1`, `2`, ""},
		"an element within objects": {`{"a":[{"b":1},{"b":2}]}`, `{"a":[{"b":1},{"b":3}]}`, ".a[1].b"},
	} {
		t.Run(name, func(t *testing.T) {
			for decoder, decode := range map[string]func(string, *any) error{
				"numbers as text": func(s string, into *any) error {
					d := json.NewDecoder(bytes.NewReader([]byte(s)))
					d.UseNumber()
					return d.Decode(into)
				},
				"numbers as values": func(s string, into *any) error { return utiljson.Unmarshal([]byte(s), into) },
			} {
				var a, b any
				if err := decode(tc.a, &a); err != nil {
					t.Fatal(err)
				}
				if err := decode(tc.b, &b); err != nil {
					t.Fatal(err)
				}
				got, differs := jsonvalue.Difference(a, b)
				if !differs {
					got = same
				}
				if got != tc.want || jsonvalue.Equal(a, b) == differs {
					t.Errorf("%s: got %q, want %q", decoder, got, tc.want)
				}
			}
		})
	}
}
