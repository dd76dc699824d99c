package service

import (
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
)

// env is the namespace of a test service on the control plane.
type env struct {
	*testing.T
	c    client.Client
	ns   string
	kube string // kubeconfig
}

func newEnv(t *testing.T) env {
	t.Helper()
	c := cluster.Get(t)
	return env{T: t, c: c.Client(t, clientgoscheme.Scheme), ns: c.Namespace(t), kube: c.Kubeconfig}
}

func (p env) args() []string {
	return []string{"--kubeconfig=" + p.kube, "--watch-namespaces=" + p.ns, "--leader-election-namespace=" + p.ns}
}

// marks requests a mark and waits until the service has made it.
func (p env) marks(mark string) {
	p.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.ns, Name: "cm-" + mark}, Data: map[string]string{"mark": mark}}
	if err := p.c.Create(p.Context(), cm); err != nil {
		p.Fatal(err)
	}
	expect.Object(p, p.c, cm, func(cm *corev1.ConfigMap) error {
		if cm.Data["marked"] != mark {
			return fmt.Errorf("not marked: %v", cm.Data)
		}
		return nil
	})
}

func TestServiceRunsAndStopsInOrder(t *testing.T) {
	p := newEnv(t)
	s := start(t, "mark", nil, p.args()...)
	s.wantResponse(s.health, "/readyz", http.StatusOK)
	s.wantResponse(s.health, "/healthz", http.StatusOK)
	p.marks("first")

	metrics := s.wantResponse(s.metrics, "/metrics", http.StatusOK)
	for _, want := range []string{`flotilla_build_info{`, `service="test-service"`, "flotilla_api_server_reachable 1"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("%q is missing in the metrics", want)
		}
	}
	s.stop()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: p.ns, Name: "test-service.flotilla.dev"}}
	if err := p.c.Get(t.Context(), client.ObjectKeyFromObject(lease), lease); err != nil {
		t.Fatal(err)
	}
	if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
		t.Errorf("the lease is still held by %q", *holder)
	}
}

func TestServiceClosesAfterControllers(t *testing.T) {
	p := newEnv(t)
	s := start(t, "closing", nil, p.args()...)
	p.marks("first") // it leads
	s.stop()
	rest := s.log.String()
	for _, want := range []string{"Runnable ended", "Closed the second", "Closed the first"} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is not logged in order:\n%s", want, s.log.String())
		}
		rest = after
	}
}

func TestServiceServesProfilesOnRequest(t *testing.T) {
	p := newEnv(t)
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, "mark", nil, append(p.args(), "--pprof-bind-address="+freeport.Address(port))...)
	s.wantResponse(freeport.Address(port), "/debug/pprof/cmdline", http.StatusOK)
	s.stop()
}

func TestServiceExitsOnSetupError(t *testing.T) {
	for mode, want := range map[string]string{
		"idle":   "test-service: set up: no controller was registered",
		"broken": "test-service: set up: nothing works",
	} {
		t.Run(mode, func(t *testing.T) {
			s := start(t, mode, nil, newEnv(t).args()...)
			var exit *exec.ExitError
			if err := s.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("ended with %v, want exit code 1", err)
			}
			lines := strings.Split(strings.TrimSpace(s.log.String()), "\n")
			if last := lines[len(lines)-1]; last != want {
				t.Errorf("the last line is %q, want %q", last, want)
			}
		})
	}
}

func TestServiceSurvivesAPIServerOutage(t *testing.T) {
	p := newEnv(t)
	api := newGateway(t, p.kube)
	args := append(p.args(), "--kubeconfig="+api.kubeconfig)
	s := start(t, "mark", nil, args...)
	s.logged("Waiting for the API server", 1)
	s.wantResponse(s.health, "/healthz", http.StatusOK)
	s.wantResponse(s.health, "/readyz", http.StatusInternalServerError)

	api.open()
	s.logged("Connected to the API server", 1)
	p.marks("first")
	s.wantResponse(s.health, "/readyz", http.StatusOK)

	pid := s.cmd.Process.Pid
	api.close() // the lease cannot be renewed: the service restarts and waits
	s.logged("Waiting for the API server", 2)
	s.wantResponse(s.health, "/healthz", http.StatusOK)
	api.open()
	p.marks("second")
	if s.cmd.Process.Pid != pid || s.cmd.ProcessState != nil {
		t.Error("the process is another one")
	}
	s.stop()
}

func TestServiceIsReadyWithoutBus(t *testing.T) {
	p := newEnv(t)
	srv := natstest.Start(t)
	srv.Stop()
	s := start(t, "mark", []string{"NATS_URL=" + srv.URL()}, append(p.args(), "--cluster-name=c1", "--bus-bootstrap")...)
	p.marks("early")
	s.wantResponse(s.health, "/readyz", http.StatusOK)

	srv.Start()
	js := jetStream(t, srv.URL())
	observed(t, js, p.ns, "early")
	srv.Stop()
	p.marks("middle")
	s.wantResponse(s.health, "/readyz", http.StatusOK)
	srv.Start()
	observed(t, jetStream(t, srv.URL()), p.ns, "middle")

	p.marks("last")
	s.stop() // the last offers are still sent
	observed(t, jetStream(t, srv.URL()), p.ns, "last")
}

func jetStream(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// observed waits for the observation of the ConfigMap with the mark.
func observed(t *testing.T, js jetstream.JetStream, ns, mark string) {
	t.Helper()
	subject, err := contract.ObservationSubject(contract.Ref{Cluster: "c1", Namespace: ns, Kind: contract.Superset, Name: "cm-" + mark}, "test-service")
	if err != nil {
		t.Fatal(err)
	}
	expect.Eventually(t, waitTimeout, func() error {
		stream, err := js.Stream(t.Context(), contract.StreamObservations)
		if err != nil {
			return err
		}
		msg, err := stream.GetLastMsgForSubject(t.Context(), subject)
		if err != nil {
			return fmt.Errorf("read %q: %w", subject, err)
		}
		_, o, err := contract.Decode[contract.Observation](msg.Data)
		if err != nil {
			return err
		}
		if o.Phase != mark || o.Epoch == 0 || o.Observer.Name != "test-service" || o.Observer.Instance == "" {
			return fmt.Errorf("unexpected observation %+v", o)
		}
		return nil
	})
}
