package service

// Options are the settings that all services share. See [Options.AddFlags] for what each flag does.
type Options struct {
	Kubeconfig               string
	ClusterName              string
	NATSURL                  string
	NATSCreds                string
	BusBootstrap             bool
	MetricsAddr              string
	MetricsSecure            bool
	HealthAddr               string
	LeaderElect              bool
	LeaderElectionNamespace  string
	ConditionsLeaseNamespace string
	WatchNamespaces          []string
	Workers                  int
	LogLevel                 string
	LogFormat                string
}
