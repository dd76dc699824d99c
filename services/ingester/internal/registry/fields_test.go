package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
)

// TestFieldsMatchAPI compares all messages and enums with testdata/fields.txt, both ways.
func TestFieldsMatchAPI(t *testing.T) {
	listed := parseFields(t)
	for _, kind := range api.Kinds() {
		listed["message "+kind] = []string{
			"type_meta metav1.TypeMeta=1", "metadata metav1.ObjectMeta=2", "spec " + kind + "Spec=3", "status " + kind + "Status=4",
		}
	}
	described := describeFields(t)
	for name, want := range listed {
		slices.Sort(want)
		if diff := cmp.Diff(want, described[name]); diff != "" {
			t.Errorf("%s (-listed +described):\n%s", name, diff)
		}
	}
	for name := range described {
		if _, ok := listed[name]; !ok {
			t.Errorf("%s is not listed", name)
		}
	}
}

var (
	enumLine  = regexp.MustCompile(`^enum ([\w.]+) (\w+_)\*: (.*)$`)
	fieldText = regexp.MustCompile(`^(\w+) (\S+)=(\d+)((?:!\w+)*)(?: \{.*\})?$`)
	oneofText = regexp.MustCompile(`^oneof (\w+)\{(.*)\}$`)
)

// parseFields returns the lines of the listing as sorted fields or values by "message X" and "enum X".
func parseFields(t *testing.T) map[string][]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "fields.txt"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for line := range strings.SplitSeq(string(raw), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if m := enumLine.FindStringSubmatch(line); m != nil {
			for value := range strings.SplitSeq(m[3], ", ") {
				out["enum "+m[1]] = append(out["enum "+m[1]], m[2]+value)
			}
			continue
		}
		name, fields, ok := strings.Cut(line, ": ")
		if !ok {
			t.Fatalf("no fields in %q", line)
		}
		out["message "+name] = parseMessage(t, fields, "")
	}
	return out
}

// parseMessage turns "a str=1; oneof x{b str=2}" into the notation of [describeFields].
func parseMessage(t *testing.T, fields, oneof string) []string {
	t.Helper()
	var out []string
	for _, text := range splitOutsideBraces(fields) {
		if m := oneofText.FindStringSubmatch(text); m != nil {
			out = append(out, parseMessage(t, m[2], " oneof "+m[1])...)
			continue
		}
		if rest, ok := strings.CutPrefix(text, "reserved "); ok {
			out = append(out, "reserved "+strings.Trim(rest, `"`))
			continue
		}
		if text == "(empty)" || text == "[no_default]" {
			continue
		}
		m := fieldText.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no field in %q", text)
		}
		out = append(out, fmt.Sprintf("%s %s=%s%s%s", m[1], m[2], m[3], m[4], oneof))
	}
	return out
}

func splitOutsideBraces(text string) []string {
	var out []string
	depth, start := 0, 0
	for i, r := range text {
		switch {
		case r == '{':
			depth++
		case r == '}':
			depth--
		case r == ';' && depth == 0:
			out = append(out, strings.TrimSpace(text[start:i]))
			start = i + 1
		}
	}
	return append(out, strings.TrimSpace(text[start:]))
}

// describeFields renders the descriptors in the notation of the listing.
func describeFields(t *testing.T) map[string][]string {
	t.Helper()
	r, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	d := describer{types: dynamicpb.NewTypes(r.Files()), out: out}
	r.Files().RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if strings.HasPrefix(string(f.Package()), "michelangelo.") {
			if err := d.scope(f.Messages(), f.Enums()); err != nil {
				t.Fatal(err)
			}
		}
		return true
	})
	return out
}

type describer struct {
	types *dynamicpb.Types
	out   map[string][]string
}

func (d describer) scope(messages protoreflect.MessageDescriptors, enums protoreflect.EnumDescriptors) error {
	for i := range enums.Len() {
		d.enum(enums.Get(i))
	}
	for i := range messages.Len() {
		m := messages.Get(i)
		if m.IsMapEntry() {
			continue
		}
		lines, err := d.message(m)
		if err != nil {
			return err
		}
		slices.Sort(lines)
		d.out["message "+shortName(m)] = lines
		if err := d.scope(m.Messages(), m.Enums()); err != nil {
			return err
		}
	}
	return nil
}

func (d describer) enum(e protoreflect.EnumDescriptor) {
	var out []string
	for i := range e.Values().Len() {
		v := e.Values().Get(i)
		out = append(out, fmt.Sprintf("%s=%d", v.Name(), v.Number()))
	}
	slices.Sort(out)
	d.out["enum "+shortName(e)] = out
}

func (d describer) message(m protoreflect.MessageDescriptor) ([]string, error) {
	var out []string
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		marks, err := d.marks(f)
		if err != nil {
			return nil, err
		}
		line := fmt.Sprintf("%s %s=%d%s", f.Name(), typeOf(f), f.Number(), marks)
		if oneof := f.ContainingOneof(); oneof != nil {
			line += " oneof " + string(oneof.Name())
		}
		out = append(out, line)
	}
	for i := range m.ReservedRanges().Len() {
		for n := m.ReservedRanges().Get(i)[0]; n < m.ReservedRanges().Get(i)[1]; n++ {
			out = append(out, fmt.Sprintf("reserved %d", n))
		}
	}
	for i := range m.ReservedNames().Len() {
		out = append(out, "reserved "+string(m.ReservedNames().Get(i)))
	}
	return out, nil
}

// marks reads the options of a field.
func (d describer) marks(f protoreflect.FieldDescriptor) (string, error) {
	raw, err := proto.Marshal(f.Options())
	if err != nil {
		return "", err
	}
	options := &descriptorpb.FieldOptions{}
	if err := (proto.UnmarshalOptions{Resolver: d.types}).Unmarshal(raw, options); err != nil {
		return "", err
	}
	blob, err := d.types.FindExtensionByName("flotilla.ingester.blob")
	if err != nil {
		return "", err
	}
	out := ""
	if options.GetDeprecated() {
		out += "!depr"
	}
	if options.ProtoReflect().Get(blob.TypeDescriptor()).Bool() {
		out += "!blob"
	}
	return out, nil
}

func typeOf(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return fmt.Sprintf("map<%s,%s>", typeOf(f.MapKey()), typeOf(f.MapValue()))
	case f.IsList():
		return "[]" + elementOf(f)
	}
	return elementOf(f)
}

func elementOf(f protoreflect.FieldDescriptor) string {
	switch f.Kind() {
	case protoreflect.StringKind:
		return "str"
	case protoreflect.EnumKind:
		return within(f, shortName(f.Enum()))
	case protoreflect.MessageKind:
		if name := shortName(f.Message()); name != "ResourceIdentifier" {
			return within(f, name)
		}
		return "RID"
	}
	return f.Kind().String()
}

// within names a nested type as the message that contains it does: without that message's name.
func within(f protoreflect.FieldDescriptor, name string) string {
	return strings.TrimPrefix(name, shortName(f.ContainingMessage())+".")
}

func shortName(d protoreflect.Descriptor) string {
	name := string(d.FullName())
	for prefix, short := range map[string]string{
		"michelangelo.api.v2.": "", "google.protobuf.": "pb.", "k8s.io.api.core.v1.": "corev1.",
		"k8s.io.apimachinery.pkg.apis.meta.v1.": "metav1.",
	} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return short + rest
		}
	}
	return strings.TrimPrefix(name, "michelangelo.api.")
}
