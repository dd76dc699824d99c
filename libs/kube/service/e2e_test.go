package service

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
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

func TestSecureMetricsAuthorizeRequests(t *testing.T) {
	p := newEnv(t)
	s := start(t, "mark", nil, append(p.args(), "--metrics-secure=true")...)
	s.scrapes("", http.StatusUnauthorized)
	s.scrapes(p.token("scraper"), http.StatusForbidden)
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: p.ns}, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: p.ns}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: p.ns},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: p.ns, Name: "reader"}},
	}
	for _, obj := range []client.Object{role, binding} {
		if err := p.c.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	s.scrapes(p.token("reader"), http.StatusOK)
}

// token returns a token of a new service account.
func (p env) token(name string) string {
	p.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: p.ns, Name: name}}
	if err := p.c.Create(p.Context(), account); err != nil {
		p.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{}
	if err := p.c.SubResource("token").Create(p.Context(), account, request); err != nil {
		p.Fatal(err)
	}
	return request.Status.Token
}

// scrapes waits for a status: the certificate and a new role take effect with a delay.
func (s *started) scrapes(token string, status int) {
	s.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	expect.Eventually(s, waitTimeout, func() error {
		req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, "https://"+s.metrics+"/metrics", http.NoBody)
		if err != nil {
			return err
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return err
		}
		if resp.StatusCode != status {
			err = fmt.Errorf("status is %d, want %d", resp.StatusCode, status)
		}
		return errors.Join(err, resp.Body.Close())
	})
}

// gateway is a proxy to the API server that a test can open and close.
type gateway struct {
	t          *testing.T
	kubeconfig string
	target     string
	address    string

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

func newGateway(t *testing.T, kubeconfig string) *gateway {
	t.Helper()
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{t: t, address: fmt.Sprint("127.0.0.1:", port), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	for _, c := range cfg.Clusters {
		server, err := url.Parse(c.Server)
		if err != nil {
			t.Fatal(err)
		}
		g.target = server.Host
		server.Host = g.address
		c.Server = server.String()
	}
	if err := clientcmd.WriteToFile(*cfg, g.kubeconfig); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.close)
	return g
}

func (g *gateway) open() {
	g.t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(g.t.Context(), "tcp", g.address)
	if err != nil {
		g.t.Fatal(err)
	}
	g.mu.Lock()
	g.listener = listener
	g.mu.Unlock()
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := (&net.Dialer{}).DialContext(g.t.Context(), "tcp", g.target)
			if err != nil {
				g.t.Error(errors.Join(err, in.Close()))
				return
			}
			g.mu.Lock()
			g.conns = append(g.conns, in, out)
			g.mu.Unlock()
			go pipe(in, out)
			go pipe(out, in)
		}
	}()
}

// pipe ends when either side is closed, as when the gateway closes.
func pipe(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil && !errors.Is(err, net.ErrClosed) {
		return
	}
}

func (g *gateway) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.listener == nil {
		return
	}
	errs := []error{g.listener.Close()}
	for _, c := range g.conns {
		errs = append(errs, c.Close())
	}
	g.listener, g.conns = nil, nil
	if err := errors.Join(errs...); err != nil && !errors.Is(err, os.ErrClosed) {
		g.t.Log(err)
	}
}
