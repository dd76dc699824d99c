package docs

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/test/docs/commands"
)

// supersetCRD matches a command that applies the CRD of Superset: from its directory, or from a render of its chart. Its size
// exceeds the limit of annotations, and a client-side apply stores the object in one.
var supersetCRD = regexp.MustCompile(`services/superset-operator/config/crd|superset-operator-crds|superset\.apache\.org_supersets`)

// appliesSupersetCRD reports whether a command of a page in dir applies the CRD.
func appliesSupersetCRD(dir, command string) bool {
	if !strings.Contains(command, "kubectl") || !strings.Contains(command, " apply") {
		return false
	}
	inService := strings.HasPrefix(dir, "services/superset-operator") && strings.Contains(command, "config/crd")
	return inService || supersetCRD.MatchString(command)
}

func TestSupersetCRDIsAppliedServerSide(t *testing.T) {
	found := 0
	for _, p := range pages(t) {
		for _, c := range commands.Of(p.Page, programs) {
			if history(p.path) || !appliesSupersetCRD(path.Dir(p.path), c.Text) {
				continue
			}
			found++
			if !strings.Contains(c.Text, "--server-side") {
				t.Errorf("%s:%d: %s: requires --server-side", p.path, c.Line, c.Text)
			}
		}
	}
	if found == 0 {
		t.Error("no page applies the CRD of Superset")
	}
	if file := "deploy/argocd/README.md"; !strings.Contains(read(t, file), "ServerSideApply=true") {
		t.Errorf("%s does not set ServerSideApply=true", file)
	}
}

func TestAppliesSupersetCRD(t *testing.T) {
	for command, want := range map[string]bool{
		"kubectl apply -f services/superset-operator/config/crd":                             true,
		"helm template superset-operator-crds deploy/charts/x | kubectl apply -f -":          true,
		"kubectl apply -f services/ingester/config/crd":                                      false,
		"helm install superset-operator-crds deploy/charts/superset-operator-crds":           false,
		"kubectl apply --server-side -f a/superset.apache.org_supersets.yaml":                true,
		"kubectl apply -f services/superset-operator/config/samples/development.yaml -n one": false,
	} {
		if got := appliesSupersetCRD("docs", command); got != want {
			t.Errorf("%s: %t", command, got)
		}
	}
	if !appliesSupersetCRD("services/superset-operator/docs", "kubectl apply -f config/crd") {
		t.Error("a page of the service is not checked")
	}
}
