package validation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestMessage(t *testing.T) {
	at := func(name string) *field.Path { return field.NewPath("spec").Child(name) }
	cases := map[string]struct {
		errs field.ErrorList
		want string
	}{
		"no errors": {nil, ""},
		"one error": {field.ErrorList{field.Forbidden(at("a"), isOwned)}, "spec.a: is managed by the operator."},
		"errors of a kind share a sentence, in order": {
			field.ErrorList{field.Forbidden(at("c"), isOwned), field.Forbidden(at("b"), isUnused), field.Forbidden(at("a"), isOwned)},
			"spec.a, spec.c: is managed by the operator. spec.b: is not used by the operator.",
		},
		"a duplicate path is named once": {field.ErrorList{field.Forbidden(at("a"), isOwned), field.Forbidden(at("a"), isOwned)}, "spec.a: is managed by the operator."},
		"an error without a detail":      {field.ErrorList{field.Required(at("a"), "")}, "spec.a: Required value."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Message(tc.errs)); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMessageIgnoresOrder(t *testing.T) {
	var list field.ErrorList
	for i := range 12 {
		list = append(list, field.Forbidden(field.NewPath("spec").Index(i), fmt.Sprint("reason ", i%3)))
	}
	want := Message(list)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		if got := Message(list); got != want {
			t.Fatalf("message = %q, want %q", got, want)
		}
	}
}

func TestMessageCountsOmittedErrors(t *testing.T) {
	var list field.ErrorList
	for i := range 100 {
		list = append(list, field.Forbidden(field.NewPath("spec", fmt.Sprintf("field%03d", i), strings.Repeat("x", 20)), isOwned))
	}
	got := Message(list)
	reported := strings.Count(got, "spec.field")
	if len(got) > MessageLimit || reported < 20 || !strings.HasSuffix(got, fmt.Sprintf(": is managed by the operator. And %d more.", 100-reported)) {
		t.Errorf("%d bytes, %d paths: %q", len(got), reported, got)
	}
}

func TestMessageTruncatesLongPath(t *testing.T) {
	got := Message(field.ErrorList{field.Forbidden(field.NewPath("spec").Key(strings.Repeat("é", 2000)), isOwned)})
	if len(got) > MessageLimit || len(got) < MessageLimit-4 || !utf8.ValidString(got) || !strings.HasSuffix(got, "é...") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
