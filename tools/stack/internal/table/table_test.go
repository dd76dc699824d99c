package table_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/table"
)

func TestRender(t *testing.T) {
	cases := map[string]struct {
		rows [][]string
		want string
	}{
		"no rows": {},
		"columns are aligned without trailing blanks": {
			rows: [][]string{{"NAME", "PID"}, {"a-long-name", "1"}, {"b", ""}},
			want: "NAME         PID\na-long-name  1\nb\n",
		},
		"a cell of several lines makes a row of several lines": {
			rows: [][]string{{"NAME", "CONDITIONS"}, {"a", "Available=True\nPaused=False"}, {"b", "-"}},
			want: "NAME  CONDITIONS\na     Available=True\n      Paused=False\nb     -\n",
		},
		"width counts characters, not bytes": {
			rows: [][]string{{"größe", "x"}, {"abcde", "y"}},
			want: "größe  x\nabcde  y\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, table.Render(tc.rows)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
