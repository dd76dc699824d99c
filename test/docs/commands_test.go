package docs

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/test/docs/commands"
)

// executed are pages whose commands tests run, and the files of these tests, which name the page.
var executed = map[string]string{
	"docs/events/README.md":                       "test/events/recipes_test.go",
	"services/status-aggregator/docs/http-api.md": "services/status-aggregator/internal/httpapi/page_test.go",
	"services/ingester/docs/http-api.md":          "services/ingester/internal/httpapi/page_test.go",
}

func TestExecutedPagesAreReadByTests(t *testing.T) {
	for page, test := range executed {
		if !strings.Contains(read(t, test), path.Base(page)) {
			t.Errorf("%s does not read %s", test, page)
		}
	}
}

// shell are commands of the shell, and programs that every machine has: nothing of ours can be wrong in them.
var shell = words("cd source echo export rows rows() } [ true grep sed chmod")

// programs begin a command in a block without a language.
var programs = words(`make kubectl go git helm docker kind nats mysql curl jq source cd ` + strings.Join(services, " "))

// unverifiedRow is a row of docs/unverified.md: a command, or its beginning, and why nothing runs it.
var unverifiedRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

func TestPagesUseExistingCommands(t *testing.T) {
	c := checker{made: targets(t), verbs: plugin(t), names: names(t)}
	var excused []string
	for _, m := range unverifiedRow.FindAllStringSubmatch(read(t, "docs/unverified.md"), -1) {
		excused = append(excused, m[1])
	}
	used := map[string]bool{}
	checked := 0
	for _, p := range pages(t) {
		if history(p.path) || executed[p.path] != "" || p.path == "docs/unverified.md" {
			continue
		}
		for _, command := range commands.Of(p.Page, programs) {
			if i := slices.IndexFunc(excused, func(e string) bool { return strings.HasPrefix(command.Text, e) }); i >= 0 {
				used[excused[i]] = true
				continue
			}
			checked++
			at := p
			for _, part := range parts(command.Text) {
				if folder, is := strings.CutPrefix(part, "cd "); is {
					at.cd = folder
				}
				if problem := c.problem(at, part); problem != "" {
					t.Errorf("%s:%d: %s: %s (or give it a row in docs/unverified.md, with the reason)", p.path, command.Line, part, problem)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d commands were found: the reading is broken", checked)
	}
	for _, e := range excused {
		if !used[e] {
			t.Errorf("docs/unverified.md names %q, which begins no command of another page", e)
		}
	}
}

// parts splits a line where one command follows another, but not within quotes.
func parts(line string) []string {
	var out []string
	part, quote := "", rune(0)
	flush := func() {
		if part = strings.Trim(part, "() &"); part != "" {
			out = append(out, part)
		}
		part = ""
	}
	for _, r := range line {
		switch {
		case quote == 0 && strings.ContainsRune("&|;", r):
			flush()
			continue
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case r == quote:
			quote = 0
		}
		part += string(r)
	}
	flush()
	return out
}

// checker knows what the programs of this repository take.
type checker struct{ made, verbs, names map[string]bool }

var assignment = regexp.MustCompile(`^[A-Za-z_]\w*=`)

// problem returns what is wrong with one command; empty for one that is right as far as can be seen.
func (c checker) problem(p page, command string) string {
	f := strings.Fields(command)
	for len(f) > 0 && assignment.MatchString(f[0]) {
		f = f[1:]
	}
	if len(f) == 0 || shell[f[0]] {
		return ""
	}
	for _, word := range f[1:] {
		if file := strings.Trim(word, `"'`); fileLike(file) && !p.exists(strings.TrimSuffix(strings.TrimSuffix(file, "/..."), "/")) {
			return "there is no file " + file
		}
	}
	switch program := f[0]; {
	case program == "make":
		return c.make(f[1:])
	case program == "kubectl" && len(f) > 2 && f[1] == "flotilla":
		return c.flags(f[3:], c.verbs[f[2]], "subcommand "+f[2])
	case program == "kubectl":
		i := slices.IndexFunc(f[1:], func(w string) bool { return kubectlVerbs[w] })
		return c.flags(f[1:], i >= 0, "command of kubectl in it that the checks know")
	case slices.Contains(services, program):
		return c.flags(f[1:], len(f) == 1 || strings.HasPrefix(f[1], "-") || c.names[f[1]], "subcommand "+strings.Join(f[1:2], ""))
	case program == "helm":
		return c.flags(nil, helmVerbs[strings.Join(f[1:2], "")], "command of helm that the checks know")
	case program == "go" || program == "git" || strings.HasPrefix(program, "hack/"):
		return ""
	}
	return "nothing here runs or checks " + f[0]
}

func (c checker) make(args []string) string {
	for i, a := range args {
		if a == "-C" || i > 0 && args[i-1] == "-C" {
			continue
		}
		if !hasTarget(c.made, strings.Trim(a, `"`)) && !strings.Contains(strings.Join(args[:i], " "), `="`) {
			return "there is no target " + a
		}
	}
	return ""
}

// flags checks the long flags that follow a subcommand.
func (c checker) flags(args []string, known bool, what string) string {
	if !known {
		return "there is no " + what
	}
	for _, a := range args {
		if m := ownFlag.FindStringSubmatch(a); m != nil && !c.names[strings.TrimPrefix(m[1], "--")] && !foreignFlags[m[1]] {
			return "there is no flag " + m[1]
		}
	}
	return ""
}

// fileLike reports whether a word must be a file of ours.
func fileLike(word string) bool {
	if strings.HasPrefix(word, "test/") && !strings.Contains(word, ".") {
		return false // a target of make
	}
	return pathlike.MatchString(word) && !tag.MatchString(word) || strings.HasPrefix(word, "./") && !strings.ContainsAny(word, "$<>") && len(word) > 2 && word != "./..."
}

func TestProblemReportsInvalidCommands(t *testing.T) {
	c := checker{made: words("up test/%"), verbs: words("status"), names: words("namespaces kinds verify cluster-name")}
	p := page{path: "README.md"}
	for command, wrong := range map[string]bool{
		"make up":                       false,
		"make test/libs/bus":            false,
		"make -C ../.. up":              false,
		"make up SERVICES=a":            false,
		"make upp":                      true,
		"kubectl flotilla status -A":    false,
		"kubectl flotilla statuses":     true,
		"kubectl get pods":              false,
		"kubectl gett pods":             true,
		"kubectl apply -f hack/nothing": true,
		"kubectl apply -f docs/adr":     false,
		"kubectl get pods --color":      true,
		"ingester verify --kinds Model": false,
		"ingester verify --kind Model":  true,
		"ingester vanish":               true,
		"GOWORK=off go run ./docs/adr":  false,
		"GOWORK=off go run ./nowhere":   true,
		"cat README.md":                 true,
		"cd anywhere":                   false,
		"helm install a docs/adr":       false,
		"helm install a docs/nothing":   true,
		"helm instal a docs/adr":        true,
	} {
		if got := c.problem(p, command); (got != "") != wrong {
			t.Errorf("%s: %q", command, got)
		}
	}
	if got := fmt.Sprint(parts("(cd a && make up) | jq '.|.'; b &")); got != "[cd a make up jq '.|.' b]" {
		t.Errorf("parts %s", got)
	}
}
