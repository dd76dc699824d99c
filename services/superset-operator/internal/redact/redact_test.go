package redact_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/redact"
)

func TestLines(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"a password in a URI":               {"connect to postgresql://u:p4ss@db:5432/x failed", "connect to postgresql://u:***@db:5432/x failed"},
		"a password with @ and slashes":     {"mysql+mysqldb://u:p@s/w:d@db/x?a=b", "mysql+mysqldb://u:***@db/x?a=b"},
		"a password without a user":         {"rediss://:hunter2@cache:6379/0", "rediss://:***@cache:6379/0"},
		"a URI without a password":          {"GET https://db:5432/x", "GET https://db:5432/x"},
		"a token in the place of a user":    {"pull https://ghp_a1B2c3D4e5F6g7H8i9J0@github.com/x", "pull https://***@github.com/x"},
		"a token before a fixed password":   {"https://ghp_a1B2c3D4e5F6g7H8i9J0:x-oauth-basic@github.com", "https://***:***@github.com"},
		"a user without a password":         {"GET https://reader@db:5432/x", "GET https://reader@db:5432/x"},
		"an Authorization header":           {"Authorization: Basic dXNlcjpwdw==\nnext", "Authorization: ***\nnext"},
		"an Authorization header in a dict": {`{'Authorization': 'Bearer abc def', 'Accept': '*/*'}`, `{'Authorization': ***, 'Accept': '*/*'}`},
		"a bearer token":                    {"sent bearer eyJ0.abc1-_=/+ to it", "sent bearer *** to it"},
		"bearer as a word":                  {"the bearer token is missing", "the bearer token is missing"},
		"an assignment":                     {"PGPASSWORD=hunter2 psql -h db", "PGPASSWORD=*** psql -h db"},
		"a variable of the operator":        {"SUPERSET_OPERATOR__DB_PASS=a,b;c", "SUPERSET_OPERATOR__DB_PASS=***"},
		"a key and its value":               {"secret_key: correct horse\nnext", "secret_key: ***\nnext"},
		"JSON":                              {`{"api_key": "a\"b c", "x": 1}`, `{"api_key": ***, "x": 1}`},
		"JSON inside JSON":                  {`{"msg": "{\"password\": \"a b\", \"x\": 1}"}`, `{"msg": "{\"password\": ***, \"x\": 1}"}`},
		"a Python repr":                     {`Conn(password='a b\'c', host='db')`, `Conn(password=***, host='db')`},
		"Python bytes":                      {`{'token': b'a b', 'x': 1}`, `{'token': ***, 'x': 1}`},
		"an item of a dict":                 {`os.environ['DB_PASSWORD'] = 'a b' # set`, `os.environ['DB_PASSWORD'] = *** # set`},
		"a triple quoted value":             {"SECRET_KEY = \"\"\"a\nb c\"\"\"\nnext", "SECRET_KEY = ***\nnext"},
		"a quote that is never closed":      {`password="a b c` + "\nnext", "password=***\nnext"},
		"a shell word in pieces":            {`password='a'\''b' host=db`, `password=*** host=db`},
		"a flag with a space":               {"mysql --password hunter2 -h db", "mysql --password *** -h db"},
		"bound parameters": {
			"[SQL: UPDATE dbs SET x=%s]\n[parameters: ('hunter2', 1)]\n(Background on this error)",
			"[SQL: UPDATE dbs SET x=%s]\n[parameters: ***\n(Background on this error)",
		},
		"a rejected row":               {"DETAIL:  Failing row contains (1, a\nb, null).\nnext", "DETAIL:  Failing row contains (***).\nnext"},
		"a rejected row at the end":    {"Failing row contains (1, hunter2", "Failing row contains (***"},
		"an unreadable row":            {"CONTEXT:  COPY dbs, line 3: \"1\thunter2\"\nnext", "CONTEXT:  COPY dbs, line 3: ***\nnext"},
		"a password in SQL":            {"CREATE USER x IDENTIFIED WITH native BY 'a b' REQUIRE SSL", "CREATE USER x IDENTIFIED WITH native BY *** REQUIRE SSL"},
		"other keys":                   {"host=db passenger_count=3 compass: north", "host=db passenger_count=3 compass: north"},
		"colors between key and value": {"\x1b[32mpassword\x1b[0m=\x1b[1mhunter2\x1b[0m ok", "password=*** ok"},
		"a carriage return":            {"10%\r20%\r\ndone", "10%\n20%\ndone"},
		"a secret inside another one":  {`{"url":"a://u:p","password":"se@c ret"}`, `{"url":"a://u:***}`},
		"bytes that are not UTF-8":     {"a\xffb\x00c", "a\uFFFDbc"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := redact.Lines(tc.in, 100, 10_000); got != tc.want {
				t.Errorf("\ngot  %q\nwant %q", got, tc.want)
			}
		})
	}
}

func TestTailKeepsEnd(t *testing.T) {
	cases := map[string]struct {
		in              string
		lines, maxBytes int
		want            string
	}{
		"the last lines":                         {"a\nb\nc\n\n", 2, 100, "b\nc"},
		"fewer lines than allowed":               {"a\n", 2, 100, "a"},
		"the last bytes":                         {"abcdef", 5, 3, "def"},
		"never half a character":                 {"aäöü", 5, 5, "öü"},
		"zero bytes":                             {"abc", 5, 0, ""},
		"zero lines":                             {"abc", 0, 100, ""},
		"redacted before it is cut":              {"password=" + strings.Repeat("x", 100), 5, 20, "password=***"},
		"a secret of several lines is not split": {"TOKEN = '''a\nb\nc'''", 1, 100, "TOKEN = ***"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := redact.Lines(tc.in, tc.lines, tc.maxBytes); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestLineKeepsStart(t *testing.T) {
	cases := map[string]struct {
		in   string
		most int
		want string
	}{
		"short":                     {"abc", 10, "abc"},
		"long":                      {"ErrImagePull: a long story", 15, "ErrImagePull..."},
		"several lines":             {"a\nb\n", 10, "a b"},
		"never half a character":    {"aäöüäöü", 8, "aäö..."},
		"redacted before it is cut": {"password=hunter2 and more", 16, "password=*** ..."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := redact.Line(tc.in, tc.most); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// position is a position of a secret in a text, with its encoding.
type position struct {
	before, after string
	write         func(string) string
}

func escaped(quote string) func(string) string {
	return func(s string) string { return strings.NewReplacer(`\`, `\\`, quote, `\`+quote).Replace(s) }
}

func unchanged(s string) string { return s }

func nested(s string) string { return escaped(`"`)(escaped(`"`)(s)) }

// spaced places accept any character except a line break; the others accept words.
var (
	linePositions = []position{
		{`{"password": "`, `", "host": "db"}`, escaped(`"`)},
		{`{'db_password':'`, `', 'host': 'db'}`, escaped(`'`)},
		{`Settings(api_key='`, `', debug=True)`, escaped(`'`)},
		{`environ["MY_SECRET"] = "`, `"`, escaped(`"`)},
		{`{"msg": "{\"token\": \"`, `\", \"x\": 1}"}`, nested},
		{"SECRET_KEY: ", "", unchanged},
		{"Authorization: Bearer ", "", unchanged},
		{`headers={'Authorization': '`, `', 'X': 'y'}`, escaped(`'`)},
		{`password="`, `" host=db`, escaped(`"`)},
		{`[parameters: ('`, `', 7)]`, escaped(`'`)},
		{"Failing row contains (1, ", ", null).", unchanged},
		{"CONTEXT:  COPY dbs, line 7, column extra: \"", "\"", unchanged},
	}
	wordPositions = []position{
		{"PGPASSWORD=", " psql", unchanged},
		{"?token=", " HTTP/1.1", unchanged},
		{"postgresql+psycopg2://superset:", "@db:5432/x", unchanged},
		{"redis://:", "@cache", unchanged},
		{"mysql --password=", " -h db", unchanged},
		{"curl: Bearer 1", " sent", unchanged},
	}
)

// TestRandomSecretsAreRedacted inserts a secret in every place, between other text.
func TestRandomSecretsAreRedacted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, pattern := rapid.SampledFrom(linePositions).Draw(rt, "place"), `[!-~äß漢 ]{3,30}`
		if rapid.Bool().Draw(rt, "word") {
			p, pattern = rapid.SampledFrom(wordPositions).Draw(rt, "place"), `[!-&(-~äß漢]{3,30}`
		}
		secret := "Xq7" + rapid.StringMatching(pattern).Draw(rt, "secret") + "Zj9"
		written := p.write(secret)
		surroundings := rapid.StringMatching(`([ -~]{0,20}\n){0,3}`)
		text := surroundings.Draw(rt, "above") + p.before + written + p.after + "\n" + surroundings.Draw(rt, "below")
		got := redact.Lines(text, 100, 100_000)
		for _, leak := range []string{secret, written, "Xq7", "Zj9"} {
			if strings.Contains(got, leak) {
				rt.Fatalf("%q is in\n%s\nwhich was\n%s", leak, got, text)
			}
		}
	})
}

func FuzzLines(f *testing.F) {
	f.Add(`{"password": "a\"b"}`, 3, 20)
	f.Add("token='''", 1, 5)
	f.Add("Authorization: \\\\\"", 10, 100)
	f.Add("a://b:c@d \x1b[0m\xff", 1, 3)
	f.Fuzz(func(t *testing.T, text string, lines, size int) {
		got := redact.Lines(text, lines, size)
		if len(got) > max(size, 0) || strings.Count(got, "\n") >= max(lines, 1) || !utf8.ValidString(got) {
			t.Errorf("%d lines, %d bytes: got %q", lines, size, got)
		}
	})
}

func BenchmarkLines(b *testing.B) {
	text := strings.Repeat("2026-11-21 INFO  [alembic.runtime.migration] Running upgrade a -> b, password=hunter2\n", 500)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		redact.Lines(text, 20, 4096)
	}
}
