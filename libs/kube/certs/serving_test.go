package certs

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestServingIsReadyAfterFirstReconcile(t *testing.T) {
	s := &Serving{}
	if n := testutil.CollectAndCount(s); n != 0 {
		t.Errorf("%d values of the expiry without a certificate", n)
	}
	if err := s.Check(nil); !errors.Is(err, errNotReady) {
		t.Errorf("before the first reconcile: %v", err)
	}
	if _, err := s.GetCertificate(nil); err == nil {
		t.Error("got a certificate before the first reconcile")
	}
	denied := errors.New("secrets is forbidden")
	s.recordResult(denied)
	if err := s.Check(nil); !errors.Is(err, denied) {
		t.Errorf("after a failed reconcile: %v", err)
	}
	if _, err := s.GetCertificate(nil); err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("the error of a handshake without a certificate is %v", err)
	}
	b, _ := renew(t, nil, start)
	s.setCertificate(b.Certificate())
	s.recordResult(nil)
	s.recordResult(denied)
	if err := s.Check(nil); err != nil {
		t.Errorf("a later failure makes a replica unready that serves a good certificate: %v", err)
	}
	if c, err := s.GetCertificate(nil); err != nil || c.Leaf != b.Chain[0] {
		t.Errorf("%v, %v", c, err)
	}
	if got, want := testutil.ToFloat64(s), float64(b.Chain[0].NotAfter.Unix()); got != want {
		t.Errorf("the certificate expires at %v, want %v", got, want)
	}
}
