package main

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// TestDocumentIsWhatTheProgramIsBuiltFrom lists this test binary.
func TestDocumentIsWhatTheProgramIsBuiltFrom(t *testing.T) {
	var first, second bytes.Buffer
	for _, w := range []*bytes.Buffer{&first, &second} {
		if err := write(w, "sbom", "v1.2.3", os.Args[0]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same file gives two documents")
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(&first, cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if bom.SpecVersion != cdx.SpecVersion1_6 || bom.Metadata.Component.Name != "sbom" || bom.Metadata.Component.Version != "v1.2.3" {
		t.Errorf("it is %s of %+v", bom.SpecVersion, bom.Metadata.Component)
	}
	found := map[string]cdx.Component{}
	for _, c := range *bom.Components {
		found[c.Name] = c
	}
	if got, want := found["std"].PackageURL, "pkg:golang/std@"+strings.TrimPrefix(runtime.Version(), "go"); got != want {
		t.Errorf("the standard library is %q, want %q", got, want)
	}
	library := found["github.com/CycloneDX/cyclonedx-go"]
	if !strings.HasPrefix(library.PackageURL, "pkg:golang/github.com/CycloneDX/cyclonedx-go@v0.") {
		t.Errorf("no library among %v", found)
	}
	if hashes := library.Hashes; hashes == nil || len((*hashes)[0].Value) != 64 {
		t.Errorf("its checksum is %v", hashes)
	}
}

func TestFileThatIsNoGoProgramIsAnError(t *testing.T) {
	if err := write(&bytes.Buffer{}, "sbom", "dev", "main_test.go"); err == nil || !strings.Contains(err.Error(), "read the build info") {
		t.Errorf("got %v", err)
	}
}
