package markdown_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/test/docs/markdown"
)

func TestParse(t *testing.T) {
	got := markdown.Parse("# A page\n## `code` and [a link](x.md#y)\n## Again\n## Again\n" +
		"See [one](a.md), ![two](b.png) and `[not](c.md)`; `make up`.\n<!-- run -->\n```sh\n# no heading\nmake up\n```\n```\npicture\n```\n" +
		"1. x\n\n   ```console\n   $ ls\n   ```\n")
	want := markdown.Page{
		Anchors: map[string]bool{"a-page": true, "code-and-a-link": true, "again": true, "again-1": true},
		Links:   []markdown.Link{{Line: 2, Target: "x.md#y"}, {Line: 5, Target: "a.md"}, {Line: 5, Target: "b.png"}},
		Blocks: []markdown.Block{
			{Line: 8, Info: "sh", Marked: true, Lines: []string{"# no heading", "make up"}},
			{Line: 12, Lines: []string{"picture"}},
			{Line: 17, Info: "console", Lines: []string{"   $ ls"}},
		},
		Code: []markdown.Code{{Line: 2, Text: "code"}, {Line: 5, Text: "[not](c.md)"}, {Line: 5, Text: "make up"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

func TestSlug(t *testing.T) {
	for title, want := range map[string]string{
		"Ready of an engine":                     "ready-of-an-engine",
		"Events, and reasons of transitions":     "events-and-reasons-of-transitions",
		"`TestX`: what, and why?":                "testx-what-and-why",
		"One attempt, write by write":            "one-attempt-write-by-write",
		"LifecycleComplete, and TaskComplete on": "lifecyclecomplete-and-taskcomplete-on",
	} {
		if got := markdown.Slug(title); got != want {
			t.Errorf("%q gives %q, want %q", title, got, want)
		}
	}
}
