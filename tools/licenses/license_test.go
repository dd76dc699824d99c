package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const mit = `MIT License

Copyright (c) 2026 Ada

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
`

func apache(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLicensesOf(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  []string
		err   string
	}{
		"one file":                     {files: map[string]string{"LICENSE": mit}, want: []string{"MIT"}},
		"two files":                    {files: map[string]string{"LICENSE-MIT": mit, "LICENSE-APACHE": apache(t)}, want: []string{"Apache-2.0", "MIT"}},
		"British spelling":             {files: map[string]string{"LICENCE.md": mit}, want: []string{"MIT"}},
		"a mention of a license":       {files: map[string]string{"LICENSE": "See https://opensource.org/licenses/MIT"}, err: "no license recognized"},
		"no license file":              {files: map[string]string{"README.md": mit}, err: "no license recognized"},
		"a source file of that name":   {files: map[string]string{"license.go": mit}, err: "no license recognized"},
		"an unreviewed license":        {files: map[string]string{"LICENSE": agpl}, err: "license AGPL-3.0"},
		"an unreviewed license of two": {files: map[string]string{"LICENSE": mit, "COPYING": agpl}, err: "license AGPL-3.0"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := licensesOf(writeDir(t, tc.files))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("licenses %q, error %v, want %q", got, err, tc.err)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("error %v, licenses (-want +got):\n%s", err, diff)
			}
		})
	}
}

const agpl = `This program is free software: you can redistribute it and/or modify it under the terms of the GNU Affero General Public License as published by the Free Software Foundation, either version 3 of the License, or (at your option) any later version.

This program is distributed in the hope that it will be useful, but WITHOUT ANY WARRANTY; without even the implied warranty of MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE. See the GNU Affero General Public License for more details.

You should have received a copy of the GNU Affero General Public License along with this program. If not, see <http://www.gnu.org/licenses/>.
`

func TestAddMergesProgramsAndOmitsOwnModules(t *testing.T) {
	dir := writeDir(t, map[string]string{"LICENSE": mit})
	found := map[string]*Dependency{}
	for _, program := range []string{"ingester", "superset-operator"} {
		if err := add(found, program, "example.com/a\tv1.0.0\t"+dir+"\nexample.com/a\tv1.0.0\t"+dir+"\n"+own+"libs/bus\tv0.0.0\t/nowhere\n\n"); err != nil {
			t.Fatal(err)
		}
	}
	text, err := render(found)
	if err != nil || !strings.HasSuffix(string(text), "|---|---|---|---|\n| example.com/a | v1.0.0 | MIT | ingester, superset-operator |\n") {
		t.Errorf("error %v, page:\n%s", err, text)
	}
}

func TestPrograms(t *testing.T) {
	got := programs("# path kind released\nlibs/bus lib yes\nservices/ingester service yes deploy/nats/ LICENSE\ncmd/plugin tool yes\ntools/stack tool no\n")
	if diff := cmp.Diff([]string{"services/ingester", "cmd/plugin"}, got); diff != "" {
		t.Errorf("programs (-want +got):\n%s", diff)
	}
}
