package commands_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/test/docs/commands"
	"github.com/flotilla-dev/flotilla/test/docs/markdown"
)

const page = "<!-- run -->\n```sh\na one   # why\n# only a comment\nb \\\n  two\n```\n" +
	"```console\n$ c three\noutput c\n```\n```\nd four   # why\nd     a column\nwords that are none\n```\n```yaml\nd: five\n```\n" +
	"```sh as=ada\ne 'six # seven'\n```\n"

func TestOf(t *testing.T) {
	got := commands.Of(markdown.Parse(page), map[string]bool{"d": true})
	want := []commands.Command{{Line: 3, Text: "a one"}, {Line: 6, Text: "b two"}, {Line: 9, Text: "c three"}, {Line: 13, Text: "d four"}, {Line: 21, Text: "e 'six # seven'"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestMarked(t *testing.T) {
	want := []string{"a one   # why\n# only a comment\nb \\\n  two"}
	if diff := cmp.Diff(want, commands.Marked(page)); diff != "" {
		t.Errorf("scripts (-want +got):\n%s", diff)
	}
}
