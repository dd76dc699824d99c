package legacyschema

import "testing"

func TestCopyNoticeNamesDuration(t *testing.T) {
	const want = "changing table pipelinerun: copying about 1000000 rows takes about 2m6s; the table is read-only meanwhile"
	if got := copyNotice("pipelinerun", 1_000_000, 8_000); got != want {
		t.Errorf("the notice is %q, want %q", got, want)
	}
}
