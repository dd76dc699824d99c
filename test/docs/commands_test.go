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

// executed maps the pages whose commands tests run to the files of these tests, which contain the path of the page.
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

// shell lists shell commands and standard programs, which need no check.
var shell = wordSet("cd source echo export rows rows() } [ true grep sed chmod")

// programs are the first words of commands in blocks without a language.
var programs = wordSet(`make kubectl go git helm docker kind nats mysql curl jq source cd ` + strings.Join(services, " "))

// unverifiedRow matches a row of docs/unverified.md: a command or its prefix, and the reason why no test runs it.
var unverifiedRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

func TestPagesUseExistingCommands(t *testing.T) {
	c := checker{made: targets(t), verbs: plugin(t), names: names(t)}
	var exceptions []string
	for _, m := range unverifiedRow.FindAllStringSubmatch(read(t, "docs/unverified.md"), -1) {
		exceptions = append(exceptions, m[1])
	}
	used := map[string]bool{}
	checked := 0
	for _, p := range pages(t) {
		if history(p.path) || executed[p.path] != "" || p.path == "docs/unverified.md" {
			continue
		}
		for _, command := range commands.Of(p.Page, programs) {
			if i := slices.IndexFunc(exceptions, func(e string) bool { return strings.HasPrefix(command.Text, e) }); i >= 0 {
				used[exceptions[i]] = true
				continue
			}
			checked++
			at := p
			for _, part := range parts(command.Text) {
				if dir, is := strings.CutPrefix(part, "cd "); is {
					at.cd = dir
				}
				if problem := c.problem(at, part); problem != "" {
					t.Errorf("%s:%d: %s: %s (or give it a row in docs/unverified.md, with the reason)", p.path, command.Line, part, problem)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("found only %d commands: the parser is broken", checked)
	}
	for _, e := range exceptions {
		if !used[e] {
			t.Errorf("docs/unverified.md lists %q, which is not a prefix of a command on another page", e)
		}
	}
}

// parts splits a line into its commands. It ignores separators within quotes.
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

// checker holds the make targets, subcommands and flags of this repository.
type checker struct{ made, verbs, names map[string]bool }

var assignment = regexp.MustCompile(`^[A-Za-z_]\w*=`)

// problem describes the error in a command. It is empty if the checks find none.
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
			return "file not found: " + file
		}
	}
	switch program := f[0]; {
	case program == "make":
		return c.make(f[1:])
	case program == "kubectl" && len(f) > 2 && f[1] == "flotilla":
		return c.flags(f[3:], c.verbs[f[2]], "subcommand "+f[2])
	case program == "kubectl":
		i := slices.IndexFunc(f[1:], func(w string) bool { return kubectlVerbs[w] })
		return c.flags(f[1:], i >= 0, "kubectl command")
	case slices.Contains(services, program):
		return c.flags(f[1:], len(f) == 1 || strings.HasPrefix(f[1], "-") || c.names[f[1]], "subcommand "+strings.Join(f[1:2], ""))
	case program == "helm":
		return c.flags(nil, helmVerbs[strings.Join(f[1:2], "")], "helm command")
	case program == "go" || program == "git" || strings.HasPrefix(program, "hack/"):
		return ""
	}
	return "no test runs or checks " + f[0]
}

func (c checker) make(args []string) string {
	for i, a := range args {
		if a == "-C" || i > 0 && args[i-1] == "-C" {
			continue
		}
		if !hasTarget(c.made, strings.Trim(a, `"`)) && !strings.Contains(strings.Join(args[:i], " "), `="`) {
			return "make target not found: " + a
		}
	}
	return ""
}

// flags checks the long flags that follow a subcommand.
func (c checker) flags(args []string, known bool, what string) string {
	if !known {
		return "unknown " + what
	}
	for _, a := range args {
		if m := ownFlag.FindStringSubmatch(a); m != nil && !c.names[strings.TrimPrefix(m[1], "--")] && !foreignFlags[m[1]] {
			return "unknown flag " + m[1]
		}
	}
	return ""
}

// fileLike reports whether a word must be a file of the repository.
func fileLike(word string) bool {
	if strings.HasPrefix(word, "test/") && !strings.Contains(word, ".") {
		return false // a target of make
	}
	return pathlike.MatchString(word) && !tag.MatchString(word) || strings.HasPrefix(word, "./") && !strings.ContainsAny(word, "$<>") && len(word) > 2 && word != "./..."
}

func TestProblemReportsInvalidCommands(t *testing.T) {
	c := checker{made: wordSet("up test/%"), verbs: wordSet("status"), names: wordSet("namespaces kinds verify cluster-name")}
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
