package drain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// PodIP asks pods directly.
type PodIP struct {
	client *http.Client
	port   int
}

// NewPodIP returns a transport that asks pods at their own address. It keeps no
// connections and follows no redirects.
func NewPodIP(port int) *PodIP {
	return &PodIP{port: port, client: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DisableKeepAlives:     true,
			DialContext:           (&net.Dialer{Timeout: 2 * time.Second}).DialContext,
			ResponseHeaderTimeout: podTimeout,
		},
	}}
}

// Metrics implements [Transport].
func (t *PodIP) Metrics(ctx context.Context, pod *corev1.Pod) (io.ReadCloser, error) {
	if pod.Status.PodIP == "" {
		return nil, errors.New("the pod has no address")
	}
	url := "http://" + net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(t.port)) + "/metrics"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	res, err := t.client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusOK {
		return res.Body, nil
	}
	excerpt, err := io.ReadAll(io.LimitReader(res.Body, 256))
	return nil, errors.Join(fmt.Errorf("status %s: %s", res.Status, strings.TrimSpace(string(excerpt))), err, res.Body.Close())
}

// Proxy asks pods through the API server, for clusters in which the operator cannot
// reach pods. It needs the right to get pods/proxy.
type Proxy struct{ core rest.Interface }

// NewProxy returns a transport through the API server; core is a client of the core group.
func NewProxy(core rest.Interface) *Proxy { return &Proxy{core: core} }

// Metrics implements [Transport].
func (t *Proxy) Metrics(ctx context.Context, pod *corev1.Pod) (io.ReadCloser, error) {
	return t.core.Get().Namespace(pod.Namespace).Resource("pods").
		Name(pod.Name + ":" + strconv.Itoa(names.PortMetrics)).SubResource("proxy").Suffix("metrics").Stream(ctx)
}
