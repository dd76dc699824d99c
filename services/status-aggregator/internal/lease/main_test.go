package lease

import (
	"os"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m, cluster.Options{Nodes: 1})) }
