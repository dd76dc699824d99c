package main

import (
	"fmt"
	"regexp"
	"strings"
)

// edit adds a service to a list. Exactly one of after, before and in is set.
type edit struct {
	file string
	// after adds text after the last line that matches, before before the first one.
	after, before string
	// in replaces each match by text, whose $1 and so on are groups of the match.
	in   string
	text string
	// sorted moves the place of before down, past lines that precede the text in alphabetical order.
	sorted bool
}

// alternatives matches the names of services in a regular expression of PromQL.
const alternatives = `(\(superset-operator(?:\|[a-z0-9-]+)+)\)`

// edits are the lists of services and kinds that no program derives from modules.txt.
var edits = []edit{
	{file: "modules.txt", after: `^services/\S+ +service `, text: `[[printf "services/%-21s  api      yes" (print .Name "/api")]]
[[printf "services/%-21s  service  yes" .Name]]`},
	{file: "CODEOWNERS", after: `^/services/`, text: `[[printf "/services/%-21s" (print .Name "/")]] @flotilla-dev/[[.Team]]`},

	// The contract, and who reads it.
	{file: "libs/contract/kinds.go", after: `^\t[A-Z]\w+ +Kind = "`, text: `	[[.Kind]] Kind = "[[.Token]]"`},
	{file: "libs/contract/kinds.go", after: `^\t[A-Z]\w+: +\{"`, text: `	[[.Kind]]: {"[[.Group]]", "v1alpha1", "[[.Kind]]"},`},
	{
		file: "services/status-aggregator/internal/registry/registry.go", after: `^\t\trow\(contract\.`,
		text: `		row(contract.[[.Kind]], "[[.Plural]]", "[[.Name]]"),`,
	},
	{
		file: "services/status-aggregator/internal/registry/registry_test.go", after: `^\t\t"[\w.]+": +"[\w-]+",$`,
		text: `		"[[.Plural]].[[.Group]]": "[[.Name]]",`,
	},
	{
		file: "services/status-aggregator/config/rbac/role.yaml", before: `^  # Kinds whose operator is installed later`,
		text: `  - apiGroups: [ [[- .Group]]]
    resources: [ [[- .Plural]]]
    verbs: [get, list, watch]
  - apiGroups: [ [[- .Group]]]
    resources: [ [[- .Plural]]/status]
    verbs: [patch]`,
	},
	{
		file: "tools/stack/internal/samples/resource.go", after: `^\t\{Group: "`,
		text: `	{Group: "[[.Group]]", Kind: "[[.Kind]]"}: {phase: "Running", condition: "Available"},`,
	},
	{
		file: "test/deploy/argocd/kinds_test.go", before: `^\t"michelangelo\.api/\*"`,
		text: `	"[[.Group]]/[[.Kind]]": conditionsScript,`,
	},
	{file: "deploy/argocd/README.md", in: `(\(conditions\.lua\) \| [^:\n]+):`, text: `$1, [[.Kind]]:`},
	{file: "deploy/flux/health-check-exprs.yaml", after: `^    current: \*current$`, text: `  - apiVersion: [[.Group]]/v1alpha1
    kind: [[.Kind]]
    inProgress: *inProgress
    failed: *failed
    current: *current`},

	// Permissions on the bus, and the tests of what they allow and deny.
	{file: "deploy/nats/authorization.conf", in: `(?m)^(publishers: \[.*)\]$`, text: `$1, [[.Name]]]`},
	{file: "deploy/nats/authorization.conf", after: `^  ingester \{`, text: `  [[.Name]] { include "[[.Name]].conf" }`},
	{
		file: "docs/events/permissions.md", before: `^\| \[bootstrap\]`,
		text: "| [ [[- .Name]]](../../deploy/nats/[[.Name]].conf) | `flotilla.obs.v1.<cluster>.*.[[.Token]].*.[[.Name]]`, its heartbeat | " +
			"its latest observation, configuration of the streams |",
	},
	{file: "docs/events/permissions.md", in: "(`STATUS_AGGREGATOR_PASSWORD`)", text: "$1, `[[.Variable]]_PASSWORD`"},
	{file: "test/events/permissions_test.go", after: `^\t\t"[\w-]+": +\{contract\.`, text: `		"[[.Name]]": {contract.[[.Kind]]},`},
	{
		file: "test/events/forbidden_test.go", after: `^\t\t"[\w-]+": +observer\(`,
		text: `		"[[.Name]]": observer("[[.Name]]", "superset-operator", contract.[[.Kind]], contract.Superset),`,
	},
	{file: "docs/events/asyncapi.yaml", before: `^        - cluster$`, text: `        - [[.Token]]`, sorted: true},

	// Where it runs and how it is watched.
	{file: "docker-compose.yaml", before: `^networks:$`, text: `  [[.Name]]:
    <<: *service
    image: ${FLOTILLA_IMAGE_PREFIX:-flotilla}/[[.Name]]:${FLOTILLA_[[.Variable]]_VERSION:-${FLOTILLA_VERSION:-dev}}
    build: {context: ., dockerfile: deploy/images/Dockerfile, args: {SERVICE: [[.Name]]}}
`},
	{file: "deploy/prometheus/flotilla.rules.yaml", in: alternatives, text: `$1|[[.Name]])`},
	{file: "deploy/prometheus/prometheusrule.yaml", in: alternatives, text: `$1|[[.Name]])`},
	{file: "deploy/grafana/flotilla-status.json", in: alternatives, text: `$1|[[.Name]])`},
	{
		file: "deploy/prometheus/flotilla.rules.yaml", after: `or absent\(flotilla_build_info`,
		text: `            or absent(flotilla_build_info{service="[[.Name]]"})`,
	},
	{
		file: "deploy/prometheus/prometheusrule.yaml", after: `or absent\(flotilla_build_info`,
		text: `          or absent(flotilla_build_info{service="[[.Name]]"})`,
	},
	{
		file: "test/deploy/monitoring/histories_test.go", after: "`flotilla_build_info\\{service=.status-aggregator",
		text: "			`flotilla_build_info{service=\"[[.Name]]\"} 1x20`,",
	},

	// Rows of the documentation.
	{
		file: "README.md", after: `^\| \[[\w-]+\]\(services/`,
		text: `| [ [[- .Name]]](services/[[.Name]]) | runs [[.Kind]] objects | [guide](services/[[.Name]]/docs/guide.md) | ` +
			`[chart](deploy/charts/[[.Name]]) | [[.Team]] | unreleased |`,
	},
	{
		file: "deploy/charts/README.md", after: `^\| \[[\w-]+\]\([\w-]+\)`,
		text: `| [ [[- .Name]]]([[.Name]]), [ [[- .Name]]-crds]([[.Name]]-crds) | [[.Kind]] objects |`,
	},
	{
		file: "deploy/grafana/README.md", after: `^\| \[[\w-]+\.json\]`,
		text: `| [ [[- .Name]].json]([[.Name]].json) | reconciles, queue and memory of [[.Name]] |`,
	},
	{file: "deploy/samples/README.md", after: `^\| \[`, text: `| [ [[- .Name]]]([[.Name]]) | the smallest [[.Kind]] |`},
	{
		file: "docs/compatibility.md", after: `^\| [\w-]+ \| unreleased \|`,
		text: "| [[.Name]] | unreleased | none | `[[.Group]]/v1alpha1` |",
	},
}

// edit adds the service to all lists.
func (t tree) edit(s service) error {
	for _, e := range edits {
		content, err := t.read(e.file)
		if err != nil {
			return err
		}
		text, err := s.execute(e.text)
		if err != nil {
			return fmt.Errorf("%s: %w", e.file, err)
		}
		changed, ok := e.apply(string(content), string(text))
		if !ok {
			return fmt.Errorf("%s: nothing matches %q: adapt tools/newservice/edits.go", e.file, e.after+e.before+e.in)
		}
		if err := t.put(e.file, []byte(changed)); err != nil {
			return err
		}
	}
	return nil
}

// apply returns the changed content, and whether the expression matched.
func (e edit) apply(content, text string) (string, bool) {
	pattern := regexp.MustCompile(e.after + e.before + e.in)
	if e.in != "" {
		return pattern.ReplaceAllString(content, text), pattern.MatchString(content)
	}
	lines, at := strings.SplitAfter(content, "\n"), -1
	for i, line := range lines {
		if pattern.MatchString(strings.TrimSuffix(line, "\n")) {
			if at = i; e.before != "" {
				break
			}
		}
	}
	if at < 0 {
		return content, false
	}
	if e.after != "" {
		at++
	}
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))] + "- "
	for e.sorted && at < len(lines) && strings.HasPrefix(lines[at], indent) && lines[at] < text {
		at++
	}
	return strings.Join(lines[:at], "") + text + "\n" + strings.Join(lines[at:], ""), true
}
