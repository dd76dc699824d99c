package access_test

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"k8s.io/klog/v2"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard()) // the tests simulate outages
	os.Exit(cluster.Main(m, cluster.Options{Nodes: 1}))
}
