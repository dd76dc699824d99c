package ownedstatus_test

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // the client logs warnings otherwise
	os.Exit(cluster.Main(m, cluster.Options{CRDs: []string{"../internal/apitest/testdata"}}))
}
