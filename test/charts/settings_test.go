package charts

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A service with invalid settings exits immediately and logs one line.
func TestServiceExitsOnInvalidSettings(t *testing.T) {
	common := map[string]string{
		"--color=red":                  "unknown flag: --color",
		"--workers=0":                  "--workers (FLOTILLA_WORKERS) must be at least 1, got 0",
		"--nats-url=nats://n:4222":     "--cluster-name (FLOTILLA_CLUSTER_NAME) is required with --nats-url",
		"--metrics-bind-address=here":  `--metrics-bind-address (FLOTILLA_METRICS_BIND_ADDRESS) "here" is not`,
		"--leader-election-namespace=": "--leader-election-namespace (FLOTILLA_LEADER_ELECTION_NAMESPACE) is required outside a pod",
		"--nats-url=nats://n:4222 --cluster-name=c --nats-nkey=/nowhere": "--nats-nkey (FLOTILLA_NATS_NKEY)",
		"--kubeconfig=/nowhere":            "--kubeconfig (FLOTILLA_KUBECONFIG) cannot be used",
		"--leader-election-retry-period=0": "--leader-election-retry-period (FLOTILLA_LEADER_ELECTION_RETRY_PERIOD) must be positive",
	}
	own := map[string]map[string]string{
		"engine-operator": {
			"--max-concurrent-rollouts=-1": "--max-concurrent-rollouts must not be negative",
			"--engine-max-memory=much":     `--engine-max-memory "much" is not a quantity`,
		},
		"ingester": {
			"--mysql-dsn=a:b@tcp(c)/d --mysql-host=e": "--mysql-dsn and --mysql-host",
			"--mysql-host=e": "--mysql-user is required",
			"--mysql-host=e --mysql-password=f --mysql-password-file=g": "--mysql-password and --mysql-password-file are mutually exclusive",
			"--mysql-dsn=not-a-dsn": "--mysql-dsn (FLOTILLA_MYSQL_DSN or MYSQL_DSN)",
			"--mysql-dsn=a:b@tcp(c)/d --concurrent-reconciles-map=Boat=1":                     `--concurrent-reconciles-map: unknown kind "Boat"`,
			"--mysql-dsn=a:b@tcp(c)/d --retention=1s":                                         "--retention must be 0 or at least",
			"--mysql-host=e --mysql-user=u --mysql-database=d --mysql-tls-cert-file=/nowhere": "--mysql-tls-cert-file and --mysql-tls-key-file must be set together",
		},
		"status-aggregator": {"": "--nats-url (FLOTILLA_NATS_URL, NATS_URL) is required"},
	}
	for _, service := range services {
		cases := []map[string]string{common, own[service]}
		for _, caseName := range cases {
			for args, want := range caseName {
				t.Run(service+" "+args, func(t *testing.T) { testInvalidSetting(t, service, args, want) })
			}
		}
	}
}

func testInvalidSetting(t *testing.T, service, args, want string) {
	t.Helper()
	all := append([]string{"--leader-election-namespace=x", "--metrics-bind-address=0", "--health-probe-bind-address=0"}, strings.Fields(args)...)
	if service == "status-aggregator" && args != "" && !strings.Contains(args, "--nats-url") {
		all = append(all, "--nats-url=nats://n:4222", "--cluster-name=c")
	}
	cmd := exec.CommandContext(t.Context(), binary(t, service), all...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("the service exited with %v", err)
	}
	line, tail, _ := strings.Cut(string(out), "\n")
	if !strings.HasPrefix(line, service+": ") || !strings.Contains(line, want) || tail != "" {
		t.Errorf("output\n%s\nwant one line with %q", out, want)
	}
}
