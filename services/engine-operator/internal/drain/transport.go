package drain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// Limits of an error response, in bytes: how much is read and how much is quoted.
const (
	maxErrorBody = 4 << 10
	maxQuote     = 128
)

// refuseRedirects keeps a pod from redirecting the operator, and its credentials, elsewhere.
func refuseRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// PodIP queries pods directly.
type PodIP struct {
	client *http.Client
	port   int
}

// NewPodIP returns a transport that queries pods at their own address. It keeps no
// connections, uses no proxy and follows no redirects. The caller sets
// the timeout.
func NewPodIP(port int) *PodIP {
	return &PodIP{port: port, client: &http.Client{
		CheckRedirect: refuseRedirects,
		Transport:     &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{}).DialContext},
	}}
}

// Metrics implements [Transport].
func (t *PodIP) Metrics(ctx context.Context, pod *corev1.Pod) (io.ReadCloser, error) {
	if pod.Status.PodIP == "" {
		return nil, errors.New("the pod has no address")
	}
	return get(ctx, t.client, "http://"+net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(t.port))+"/metrics")
}

// Proxy queries pods through the API server, for clusters in which the operator cannot
// reach pods. It requires the permission to get pods/proxy.
type Proxy struct {
	client *http.Client
	core   rest.Interface // builds URLs
}

// NewProxy returns a transport through the API server of config; client carries
// the credentials. It follows no redirects, since the API server passes on those of a pod.
func NewProxy(config *rest.Config, client *http.Client) (*Proxy, error) {
	own := *client
	own.CheckRedirect = refuseRedirects
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	core, err := rest.RESTClientForConfigAndClient(config, &own)
	if err != nil {
		return nil, fmt.Errorf("create client for the pods' proxy: %w", err)
	}
	return &Proxy{client: &own, core: core}, nil
}

// Metrics implements [Transport].
func (t *Proxy) Metrics(ctx context.Context, pod *corev1.Pod) (io.ReadCloser, error) {
	r := t.core.Get().Namespace(pod.Namespace).Resource("pods").Name(pod.Name + ":" + strconv.Itoa(names.PortMetrics))
	return get(ctx, t.client, r.SubResource("proxy").Suffix("metrics").URL().String())
}

// get returns the body of a response with status 200.
func get(ctx context.Context, client *http.Client, address string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("create request: %w", err)
	}
	res, err := client.Do(req)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the error names the pod already
	}
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusOK {
		return res.Body, nil
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	return nil, errors.Join(fmt.Errorf("status %s: %s", res.Status, errorBody(body)), err, res.Body.Close())
}

// errorBody returns the text of an error response: the message of the API server, or else the
// beginning of the body.
func errorBody(body []byte) string {
	var status metav1.Status
	if err := json.Unmarshal(body, &status); err == nil && status.Message != "" {
		return status.Message
	}
	return strconv.Quote(strings.TrimSpace(string(body[:min(len(body), maxQuote)])))
}
