package charts

import (
	"os"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// credential matches a row of docs/rotating-credentials.md: the credential, its values, and when a change is effective.
var credential = regexp.MustCompile("(?m)^\\| ([^|`]+) \\| ((?:`[\\w.]+`(?:, )?)+) \\| ([^|]+) \\|$")

// A variable of the environment changes by a restart only, a mounted file at any time. The ingester reads the CA of MySQL
// at startup.
func TestDocumentedCredentialsRequireRestart(t *testing.T) {
	raw, err := os.ReadFile("../../docs/rotating-credentials.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, m := range credential.FindAllStringSubmatch(string(raw), -1) {
		for value := range strings.SplitSeq(strings.ReplaceAll(m[2], "`", ""), ", ") {
			if value == "bus.bootstrapJob" { // of a Job
				continue
			}
			checked++
			restart := strings.Contains(m[3], "after a restart")
			if variable := inEnvironment(t, value); restart != (variable || m[1] == "MySQL: CA") {
				t.Errorf("%s: %q, but the Secret of %s is in the environment: %t", m[1], m[3], value, variable)
			}
		}
	}
	if checked < 10 {
		t.Errorf("found only %d values: the parser is broken", checked)
	}
}

// inEnvironment reports whether the ingester has a Secret in its environment; otherwise it must be a volume.
func inEnvironment(t *testing.T, value string) bool {
	t.Helper()
	set := map[string]string{
		"bus.credentialsSecret":   "bus.url=nats://n:1,bus.credentialsSecret.name=rotated",
		"bus.nkeySecret":          "bus.url=nats://n:1,bus.nkeySecret.name=rotated",
		"bus.tls":                 "bus.url=nats://n:1,bus.tls.secretName=rotated",
		"bus.urlSecret":           "bus.urlSecret.name=rotated",
		"database.passwordSecret": "database.host=h,database.user=u,database.name=n,database.passwordSecret.name=rotated",
		"database.tls":            "database.host=h,database.user=u,database.name=n,database.passwordSecret.name=p,database.tls.secretName=rotated",
		"database.dsnSecret":      "database.dsnSecret.name=rotated",
		"api.secretName":          "database.dsnSecret.name=d,api.enabled=true,api.secretName=rotated",
		"webhooks.secretName":     "database.dsnSecret.name=d,webhooks.enabled=true,webhooks.certificates=secret,webhooks.caBundle=YQ==,webhooks.secretName=rotated",
	}[value]
	if set == "" {
		t.Fatalf("docs/rotating-credentials.md has another value: %s", value)
	}
	var d appsv1.Deployment
	docs := documents(t, render(t, "ingester", "--set", "cluster.name=c,"+set))
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(find(t, docs, "Deployment", "ingester").Object, &d); err != nil {
		t.Fatal(err)
	}
	for _, e := range d.Spec.Template.Spec.Containers[0].Env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && e.ValueFrom.SecretKeyRef.Name == "rotated" {
			return true
		}
	}
	for _, v := range d.Spec.Template.Spec.Volumes {
		if v.Secret != nil && v.Secret.SecretName == "rotated" {
			return false
		}
	}
	t.Fatalf("the ingester has no Secret of %s", value)
	return false
}
