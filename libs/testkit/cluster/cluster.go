package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/watchdog"
)

// Options describe the cluster of a test binary.
type Options struct {
	// CRDs are files or directories with CustomResourceDefinitions, relative to the package under test.
	CRDs []string
	// Nodes is the number of simulated nodes; 0 means controlplane.DefaultNodes.
	Nodes int
	// Manifests are files or directories with other objects to create at the start, in the order of their names.
	Manifests []string
}

// Cluster is a running control plane.
type Cluster struct {
	// Config holds an administrator's credentials, without client-side rate limits. Copy it before changing it.
	Config *rest.Config
	// Kubeconfig is a file with the same credentials, for programs.
	Kubeconfig string
	// Tools has kubectl and the other programs of the control plane.
	Tools controlplane.Tools

	plane *controlplane.Cluster
	guard *watchdog.Guard
}

const (
	markerKey    = "FLOTILLA_TEST_CLUSTER"
	startTimeout = 10 * time.Minute // of a control plane with its CRDs, next to compilers on a small machine
)

// shared is the one cluster of this test binary.
var shared struct {
	sync.Mutex
	options Options
	cluster *Cluster
	err     error
}

// Main runs the tests of a package and removes the cluster afterwards. It returns the exit code for os.Exit.
func Main(m *testing.M, o Options) int {
	shared.Lock()
	shared.options = o
	shared.Unlock()
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil {
		return code
	}
	if err := shared.cluster.guard.Release(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// Get returns the cluster of this test binary. The first call starts it. Get fails the test if the start fails.
func Get(t testing.TB) *Cluster {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil && shared.err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		shared.cluster, shared.err = start(ctx, shared.options)
	}
	if shared.err != nil {
		t.Fatalf("start a control plane: %v", shared.err)
	}
	return shared.cluster
}

// Private starts a cluster for this test only, for tests that break it. It is removed at the end of the test.
func Private(t testing.TB, o Options) *Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	c, err := start(ctx, o)
	if err != nil {
		t.Fatalf("start a control plane: %v", err)
	}
	t.Cleanup(func() {
		if err := c.guard.Release(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Client returns an uncached client: every read goes to the API server.
func (c *Cluster) Client(t testing.TB, scheme *runtime.Scheme) client.Client {
	t.Helper()
	cl, err := client.New(c.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatalf("create a client: %v", err)
	}
	return cl
}

func start(ctx context.Context, o Options) (*Cluster, error) {
	tools, err := controlplane.Find()
	if err != nil {
		return nil, err
	}
	// On a disk etcd waits for each write, and the disk is busy with those of all clusters.
	dir, err := watchdog.NewDirectory(watchdog.Options{Prefix: "flotilla-cluster-", Key: markerKey, Memory: 4 << 30})
	if err != nil {
		return nil, err
	}
	c, err := launch(ctx, tools, controlplane.Config{
		Name: "test", Dir: dir.Path, Nodes: o.Nodes, Faults: true, Marker: dir.Marker,
	})
	if err != nil {
		return nil, errors.Join(err, dir.Release())
	}
	c.guard = dir.Guard
	if err := c.install(ctx, o); err != nil {
		return nil, errors.Join(err, dir.Release())
	}
	return c, nil
}

func launch(ctx context.Context, tools controlplane.Tools, cfg controlplane.Config) (*Cluster, error) {
	cp, err := tools.Create(ctx, cfg)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", cp.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of the cluster: %w", err)
	}
	config.QPS = -1
	return &Cluster{Config: config, Kubeconfig: cp.Kubeconfig, Tools: tools, plane: cp}, nil
}

// randomSuffix makes names unique that derive from the same test name.
func randomSuffix() string {
	return strings.ToLower(rand.Text()[:6])
}
