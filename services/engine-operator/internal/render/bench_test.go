package render

import "testing"

func BenchmarkOf(b *testing.B) {
	in := input(b, "testdata/layered")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Of(in); err != nil {
			b.Fatal(err)
		}
	}
}

// A StatefulSet that was edited once is the most expensive: every field is compared.
func BenchmarkCompare(b *testing.B) {
	desired, err := Of(input(b, "testdata/layered"))
	if err != nil {
		b.Fatal(err)
	}
	live := desired.StatefulSet.DeepCopy()
	live.Generation = 2
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compare(desired, live, true); err != nil {
			b.Fatal(err)
		}
	}
}
