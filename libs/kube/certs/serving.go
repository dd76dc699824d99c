package certs

import (
	"crypto/tls"
	"errors"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Serving provides the current certificate to a TLS server. Its zero value has none yet.
type Serving struct {
	mu   sync.Mutex
	cert *tls.Certificate
	err  error // why there is none, or why the first reconcile failed
	done bool
}

var errNotReady = errors.New("webhook certificate is not checked yet")

// GetCertificate implements GetCertificate of [tls.Config].
func (s *Serving) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cert == nil {
		return nil, errors.Join(errors.New("no webhook certificate"), s.err)
	}
	return s.cert, nil
}

// Check implements a readiness check. It returns nil once a certificate exists and the
// webhook configurations, if any, trust it. A later failure does not make a replica with
// a valid certificate unready.
func (s *Serving) Check(*http.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.done:
		return nil
	case s.err != nil:
		return s.err
	default:
		return errNotReady
	}
}

func (s *Serving) setCertificate(c *tls.Certificate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cert = c
}

// recordResult records the result of a reconcile.
func (s *Serving) recordResult(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err, s.done = err, s.done || err == nil
}

var expiry = prometheus.NewDesc("flotilla_webhook_certificate_expiry_timestamp_seconds",
	"Time at which the webhook certificate that this replica has issued or read expires, in seconds since 1970.", nil, nil)

// Describe implements prometheus.Collector.
func (s *Serving) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- expiry }

// Collect implements prometheus.Collector. Without a certificate there is no value.
func (s *Serving) Collect(metrics chan<- prometheus.Metric) {
	if c, err := s.GetCertificate(nil); err == nil {
		metrics <- prometheus.MustNewConstMetric(expiry, prometheus.GaugeValue, float64(c.Leaf.NotAfter.Unix()))
	}
}
