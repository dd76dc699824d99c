package app

import (
	"flag"
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/libs/telemetry"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

// childEnv makes this program the service itself, for tests that stop whole processes.
const childEnv = "FLOTILLA_TEST_CHILD"

// The engine's CRDs are not installed: one test, which is not parallel, installs them while the aggregator runs.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		service.Main(Spec())
	}
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	// These tests wait for leases and deadlines most of the time, so more of them run in parallel than there are cores.
	if !chosen {
		if err := flag.Set("test.parallel", "4"); err != nil {
			panic(err)
		}
	}
	log := logr.Discard()
	if testing.Verbose() {
		var err error
		if log, err = telemetry.NewLogger(os.Stderr, "text", "info"); err != nil {
			panic(err)
		}
	}
	ctrl.SetLogger(log)
	os.Exit(cluster.Main(m, cluster.Options{
		CRDs: []string{"../../../superset-operator/config/crd"}, Nodes: 1,
	}))
}
