package charts

import (
	"strings"
	"testing"
)

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
		{"engine-operator", []string{`jobs.podLabels.app\.kubernetes\.io/name=engine-operator`}, "/jobs/podLabels"},
		{"superset-operator", []string{`podLabels.app\.kubernetes\.io/name=superset`}, "/podLabels"},
		{"superset-operator", []string{"watchNamespaceSelector.shard=a b"}, "/watchNamespaceSelector/shard"},
		{"superset-operator", []string{library + ".replicas=3"}, "'replicas'"},
		{"superset-operator-crds", []string{"kept=true"}, "'kept'"},
		{"superset-operator-crds", []string{"keep=perhaps"}, "/keep"},
	})
}

func TestValuesRejectContradictions(t *testing.T) {
	const busWithoutURL = "bus.credentialsSecret, bus.nkeySecret and bus.tls need bus.url"
	checkRejected(t, []rejectedSetting{
		{"superset-operator", []string{"bus.url=nats://nats:4222"}, "cluster.name is required with bus.url"},
		{"superset-operator", []string{"bus.url=nats://nats:4222", "bus.urlSecret.name=a"}, "bus.url and bus.urlSecret.name exclude each other"},
		{"superset-operator", []string{"bus.credentialsSecret.name=a", "bus.nkeySecret.name=b"}, "bus.credentialsSecret.name and bus.nkeySecret.name exclude each other"},
		{"superset-operator", []string{"bus.tls.clientCertificate=true"}, "bus.tls.clientCertificate needs bus.tls.secretName"},
		{"superset-operator", []string{"bus.tls.publicCA=true"}, "bus.tls.publicCA is for bus.tls.clientCertificate"},
		{"superset-operator", []string{"bus.credentialsSecret.name=a"}, busWithoutURL},
		{"superset-operator", []string{"bus.nkeySecret.name=a"}, busWithoutURL},
		{"superset-operator", []string{"bus.tls.secretName=a"}, busWithoutURL},
		{"superset-operator", []string{"podSecurityContext=null"}, "podSecurityContext is missing"},
		{"superset-operator", []string{"leaderElection.enabled=false"}, "replicas above 1 need leaderElection.enabled"},
		{"superset-operator", []string{"watchNamespaces={a}", "watchNamespaceSelector.shard=a"}, "watchNamespaces and watchNamespaceSelector exclude each other"},
		{"superset-operator", []string{"serviceAccount.create=false"}, "serviceAccount.name is required"},
		{"superset-operator", []string{"serviceMonitor.enabled=true", "metrics.enabled=false"}, "serviceMonitor.enabled needs metrics.enabled"},
		{"superset-operator", []string{"podDisruptionBudget.minAvailable=1"}, "set podDisruptionBudget.maxUnavailable=\"\""},
		{"superset-operator", []string{"podDisruptionBudget.maxUnavailable="}, "podDisruptionBudget.enabled needs"},
	})
}

func TestValuesRejectInvalidSettingsOfOneService(t *testing.T) {
	const (
		db          = "database.dsnSecret.name=db"
		withoutHost = "database.user, database.name and database.passwordSecret.name need database.host"
		retention   = "retention must be 0s or at least 1h"
	)
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
		{"ingester", []string{"database.user=u"}, withoutHost},
		{"ingester", []string{db, "database.name=m"}, withoutHost},
		{"ingester", []string{"database.passwordSecret.name=p"}, withoutHost},
		{"ingester", []string{"database.tls.enabled=true"}, "database.tls needs database.dsnSecret.name or database.host"},
		{"ingester", []string{db, "database.tls.publicCA=true"}, "database.tls.publicCA is for database.tls.clientCertificate"},
		{"ingester", []string{"retention=30m"}, retention},
		{"ingester", []string{"retention=500ms"}, retention},
		{"ingester", []string{"retention=-2h"}, "/retention"},
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
		{"status-aggregator", []string{"workers=0"}, "/workers"},
		{"ingester", []string{"watchNamespaceSelector.shard=a"}, "'watchNamespaceSelector'"},
		{"status-aggregator", []string{"watchNamespaceSelector.shard=a"}, "'watchNamespaceSelector'"},
	})
}

// The address of the bus may be a flag or a variable, and a command has one of its own.
func TestValuesAllowBusURLElsewhere(t *testing.T) {
	for _, settings := range [][]string{
		{"superset-operator", "--set", "bus.tls.secretName=ca,extraArgs={--nats-url=tls://nats:4222}"},
		{"engine-operator", "--set", "bus.credentialsSecret.name=nats,extraEnv[0].name=NATS_URL,extraEnv[0].value=tls://nats:4222"},
		{"status-aggregator", "--set", "bus.tls.secretName=ca,bus.bootstrapJob.url=tls://nats:4222,cluster.name=prod,command={bus,verify}"},
		{"ingester", "--set", "database.dsnSecret.name=mysql", "--set", "extraEnv=null"},
	} {
		render(t, settings[0], settings[1:]...)
	}
}

// Every number of workers that a service accepts is a value of its chart.
func TestValuesAllowFewWorkers(t *testing.T) {
	for _, service := range []string{"superset-operator", "engine-operator", "status-aggregator"} {
		out := render(t, service, "--set", "workers=1,cluster.name=prod,bus.url=nats://nats:4222")
		if !strings.Contains(out, "--workers=1\n") {
			t.Errorf("%s: no --workers=1 in\n%s", service, out)
		}
	}
}
