package charts

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// Every chart passes helm lint, and its package has all that its links point to: the library, the CRDs. The test prints
// the sizes.
func TestLintAndPackage(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(chartsDir, "*/Chart.yaml"))
	if err != nil || len(files) != 2*len(services) { // one service has no CRDs, and there is the library
		t.Fatalf("charts %v, %v", files, err)
	}
	cases := renders(t)
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			args := []string{"lint", "--strict", chart(name)}
			if values, ok := cases[name]["default"]; ok {
				args = append(args, "--values", values)
			}
			must(t, args...)
			start := time.Now()
			packed := pack(t, name)
			took := time.Since(start)
			info, err := os.Stat(packed)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Printf("CHART %s %d bytes %.1f s\n", name, info.Size(), took.Seconds())
			const differ = "the packaged chart and its directory render differently"
			if strings.HasSuffix(name, "-crds") && template(t, name, packed) != render(t, name) {
				t.Error(differ)
			}
			for kase, values := range cases[name] {
				want, err := os.ReadFile(filepath.Join("testdata/golden", name+"."+kase+".yaml"))
				if err != nil || template(t, name, packed, "--values", values) != string(want) {
					t.Errorf("%s: %s %v", kase, differ, err)
				}
			}
		})
	}
}

// The default image of a chart has its appVersion as its tag. The tag of a release begins with v, unlike the chart's version.
func TestAppVersionIsTagOfImage(t *testing.T) {
	for _, service := range services {
		for _, name := range []string{service, service + "-crds"} {
			raw, err := os.ReadFile(filepath.Join(chart(name), "Chart.yaml"))
			if os.IsNotExist(err) && name == "status-aggregator-crds" {
				continue // it has no CRDs
			}
			var got struct{ Version, AppVersion string }
			if err == nil {
				err = yaml.Unmarshal(raw, &got)
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := "v" + got.Version; got.AppVersion != want {
				t.Errorf("%s: the appVersion is %q, want %q", name, got.AppVersion, want)
			}
		}
	}
}

type rejectedSetting struct {
	chart string
	set   []string
	want  string
}

// checkRejected checks that the charts reject invalid values, and that the error names the setting.
func checkRejected(t *testing.T, cases []rejectedSetting) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.chart+" "+strings.Join(tc.set, " "), func(t *testing.T) {
			args := []string{"template", tc.chart, chart(tc.chart)}
			for _, s := range tc.set {
				args = append(args, "--set", s)
			}
			_, err := helm(t, args...)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want %q, got %v", tc.want, err)
			}
		})
	}
}

func TestValuesRejectInvalidSettings(t *testing.T) {
	checkRejected(t, []rejectedSetting{
		{"superset-operator", []string{"replica=3"}, "'replica'"},
		{"superset-operator", []string{"image.tags=1"}, "'tags'"},
		{"superset-operator", []string{"replicas=two"}, "/replicas"},
		{"superset-operator", []string{"replicas=-1"}, "/replicas"},
		{"superset-operator", []string{"image.digest=abc"}, "/image/digest"},
		{"superset-operator", []string{"image.pullPolicy=Sometimes"}, "/image/pullPolicy"},
		{"superset-operator", []string{"log.level=loud"}, "/log/level"},
		{"superset-operator", []string{"log.format=xml"}, "/log/format"},
		{"superset-operator", []string{"otlp.endpoint=collector:4318"}, "/otlp/endpoint"},
		{"superset-operator", []string{"otlp.protocol=udp"}, "/otlp/protocol"},
		{"superset-operator", []string{"metrics.port=80"}, "/metrics/port"},
		{"superset-operator", []string{"watchNamespaces={Team A}"}, "/watchNamespaces/0"},
		{"superset-operator", []string{"watchNamespaces={a,a}"}, "/watchNamespaces"},
		{"superset-operator", []string{"cluster.name=Prod"}, "/cluster/name"},
		{"superset-operator", []string{"bus.url=nats://user:secret@nats:4222"}, "/bus/url"},
		{"superset-operator", []string{"bus.url=http://nats"}, "/bus/url"},
		{"superset-operator", []string{"extraArgs={workers}"}, "/extraArgs/0"},
		{"superset-operator", []string{"serviceMonitor.interval=often"}, "/serviceMonitor/interval"},
		{"superset-operator", []string{"podDisruptionBudget.maxUnavailable=some"}, "/podDisruptionBudget/maxUnavailable"},
		{"superset-operator", []string{"webhooks.enabled=true"}, "'webhooks'"},
		{"superset-operator", []string{"watchNamespaceSelector.shard=a b"}, "/watchNamespaceSelector/shard"},
		{"superset-operator", []string{library + ".replicas=3"}, "'replicas'"},
		{"superset-operator-crds", []string{"kept=true"}, "'kept'"},
		{"superset-operator-crds", []string{"keep=perhaps"}, "/keep"},
	})
}

func TestValuesRejectContradictions(t *testing.T) {
	checkRejected(t, []rejectedSetting{
		{"superset-operator", []string{"bus.url=nats://nats:4222"}, "cluster.name is required with bus.url"},
		{"superset-operator", []string{"bus.url=nats://nats:4222", "bus.urlSecret.name=a"}, "bus.url and bus.urlSecret.name exclude each other"},
		{"superset-operator", []string{"bus.credentialsSecret.name=a", "bus.nkeySecret.name=b"}, "bus.credentialsSecret.name and bus.nkeySecret.name exclude each other"},
		{"superset-operator", []string{"bus.tls.clientCertificate=true"}, "bus.tls.clientCertificate needs bus.tls.secretName"},
		{"superset-operator", []string{"leaderElection.enabled=false"}, "replicas above 1 need leaderElection.enabled"},
		{"superset-operator", []string{"watchNamespaces={a}", "watchNamespaceSelector.shard=a"}, "watchNamespaces and watchNamespaceSelector exclude each other"},
		{"superset-operator", []string{"serviceAccount.create=false"}, "serviceAccount.name is required"},
		{"superset-operator", []string{"serviceMonitor.enabled=true", "metrics.enabled=false"}, "serviceMonitor.enabled needs metrics.enabled"},
		{"superset-operator", []string{"podDisruptionBudget.minAvailable=1"}, "set podDisruptionBudget.maxUnavailable=\"\""},
		{"superset-operator", []string{"podDisruptionBudget.maxUnavailable="}, "podDisruptionBudget.enabled needs"},
	})
}

func TestValuesRejectInvalidSettingsOfOneService(t *testing.T) {
	const db = "database.dsnSecret.name=db"
	checkRejected(t, []rejectedSetting{
		{"engine-operator", []string{"webhooks.certificates=mine"}, "/webhooks/certificates"},
		{"engine-operator", []string{"webhooks.certificates=secret"}, "webhooks.secretName is required"},
		{"engine-operator", []string{"webhooks.certificates=secret", "webhooks.secretName=a"}, "webhooks.caBundle is required"},
		{"engine-operator", []string{"webhooks.secretName=a"}, "webhooks.secretName is for"},
		{"engine-operator", []string{"webhooks.caBundle=YQ=="}, "webhooks.caBundle is for"},
		{"engine-operator", []string{"replicas=1", "leaderElection.enabled=false"}, "webhooks.certificates=self needs leaderElection.enabled"},
		{"engine-operator", []string{"engineMax.memory=much"}, "/engineMax/memory"},
		{"engine-operator", []string{"maxConcurrentRollouts=-1"}, "/maxConcurrentRollouts"},
		{"ingester", []string{"database.dsn=root@tcp(db)/m"}, "'dsn'"},
		{"ingester", []string{db, "database.host=db"}, "database.dsnSecret.name and database.host exclude each other"},
		{"ingester", []string{"database.host=db"}, "database.user is required"},
		{"ingester", []string{"database.host=db", "database.user=u"}, "database.name is required"},
		{"ingester", []string{"database.host=db", "database.user=u", "database.name=m"}, "database.passwordSecret.name is required"},
		{"ingester", []string{db, "database.tls.enabled=true"}, "database.tls needs database.host"},
		{"ingester", []string{db, "database.maxOpenConns=1"}, "/database/maxOpenConns"},
		{"ingester", []string{db, "database.maxOpenConns=4"}, "/database/maxOpenConns"},
		{"ingester", []string{"admissionPolicy=v2"}, "/admissionPolicy"},
		{"ingester", []string{"admissionPolicy=v1"}, "admissionPolicy needs database.dsnSecret.name"},
		{"ingester", []string{"webhooks.enabled=true"}, "webhooks.enabled needs database.dsnSecret.name"},
		{"ingester", []string{db, "webhooks.enabled=true", "admissionPolicy=v1"}, "webhooks.enabled and admissionPolicy=v1"},
		{"ingester", []string{db, "api.enabled=true"}, "api.secretName is required"},
		{"ingester", []string{"api.enabled=true", "api.secretName=a"}, "api.enabled needs database.dsnSecret.name"},
		{"ingester", []string{"requeuePeriod=soon"}, "/requeuePeriod"},
		{"ingester", []string{"concurrentReconcilesMap.Model=0"}, "/concurrentReconcilesMap/Model"},
		{"status-aggregator", nil, "bus.url or bus.urlSecret.name is required"},
		{"status-aggregator", []string{"bus.url=nats://n:1"}, "cluster.name is required"},
		{"status-aggregator", []string{"cluster.name=c", "bus.url=nats://n:1", "bus.bootstrapJob.enabled=true"}, "bus.bootstrapJob.url or bus.bootstrapJob.urlSecret.name is required"},
		{"status-aggregator", []string{"bus.bootstrapJob.replicas=2"}, "/bus/bootstrapJob/replicas"},
		{"status-aggregator", []string{"cluster.name=c", "bus.url=nats://n:1", "api.enabled=true"}, "api.secretName is required"},
		{"status-aggregator", []string{"conditionsLeaseNamespace=a"}, "'conditionsLeaseNamespace'"},
		{"engine-operator", []string{"rbac.create=false"}, "set uninstall.release=false"},
		{"ingester", []string{"rbac.create=false"}, "set uninstall.release=false"},
		{"ingester", []string{"workers=16"}, "/workers"}, // all controllers have concurrentReconciles
		{"status-aggregator", []string{"workers=4"}, "/workers"},
		{"ingester", []string{"watchNamespaceSelector.shard=a"}, "'watchNamespaceSelector'"},
		{"status-aggregator", []string{"watchNamespaceSelector.shard=a"}, "'watchNamespaceSelector'"},
	})
}

// With rbac.create=false a chart renders no role, also not as a hook.
func TestRBACCanBeDisabled(t *testing.T) {
	for _, service := range services {
		args := []string{"--values", renders(t)[service]["default"], "--set", "rbac.create=false"}
		if service == "engine-operator" || service == "ingester" {
			args = append(args, "--set", "uninstall.release=false")
		}
		for _, doc := range documents(t, render(t, service, args...)) {
			if doc.GroupVersionKind().Group == "rbac.authorization.k8s.io" {
				t.Errorf("%s: %s %s", service, doc.GetKind(), doc.GetName())
			}
		}
	}
}

// Helm passes "global" to subcharts, also to the library.
func TestSchemaAcceptsDefaultsOfSubchart(t *testing.T) {
	for _, service := range services {
		render(t, service, "--values", renders(t)[service]["default"], "--set", "global.registry=x")
	}
}

// The table of each README lists exactly the values of the chart.
func TestReadmesListAllValues(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(chartsDir, "*/values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, file := range files {
		if filepath.Base(filepath.Dir(file)) == "parts" {
			continue
		}
		checked++
		var values map[string]any
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(raw, &values); err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(filepath.Join(filepath.Dir(file), "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		var listed []string
		for line := range strings.SplitSeq(string(page), "\n") {
			if tail, ok := strings.CutPrefix(line, "| `"); ok {
				key, _, _ := strings.Cut(tail, "`")
				listed = append(listed, key)
			}
		}
		for _, key := range leaves("", values) {
			if !slices.ContainsFunc(listed, func(l string) bool { return key == l || strings.HasPrefix(key, l+".") }) {
				t.Errorf("%s: %s is not in the README", file, key)
			}
		}
		if len(listed) == 0 {
			t.Errorf("%s: the README lists no values", file)
		}
	}
	if checked != 2*len(services)-1 {
		t.Errorf("checked %d charts", checked)
	}
}

// The schema lists the values of all objects, at every depth, except of those with user-defined keys.
func TestSchemaDescribesAllValues(t *testing.T) {
	for _, service := range services {
		raw, err := os.ReadFile(filepath.Join(chart(service), "values.schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		var schema map[string]any
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatal(err)
		}
		open := openObjects("", schema)
		slices.Sort(open)
		for _, path := range open {
			if !slices.Contains(freeForm, path[strings.LastIndex(path, "/")+1:]) {
				t.Errorf("%s: the schema accepts any value at %s", service, path)
			}
		}
	}
}

// freeForm lists objects with user-defined keys.
var freeForm = []string{"global", "anything", "strings", "matchLabels", "concurrentReconcilesMap", "requeuePeriodMap"}

func openObjects(path string, schema map[string]any) (out []string) {
	if closed, ok := schema["additionalProperties"].(bool); schema["type"] == "object" && (!ok || closed) {
		out = append(out, path)
	}
	for _, under := range []string{"properties", "definitions"} {
		inner, _ := schema[under].(map[string]any)
		for key, one := range inner {
			if one, ok := one.(map[string]any); ok {
				out = append(out, openObjects(path+"/"+key, one)...)
			}
		}
	}
	return out
}

func leaves(prefix string, values map[string]any) (out []string) {
	for key, value := range values {
		if inner, ok := value.(map[string]any); ok && len(inner) > 0 {
			out = append(out, leaves(prefix+key+".", inner)...)
			continue
		}
		out = append(out, prefix+key)
	}
	return out
}
