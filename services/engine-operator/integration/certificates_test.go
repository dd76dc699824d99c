package integration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/certs"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/webhook"
)

// bundle is the caBundle of the first validating webhook.
func (a *admission) bundle() string {
	a.t.Helper()
	configuration := &admissionv1.ValidatingWebhookConfiguration{}
	if err := a.api.Get(a.t.Context(), client.ObjectKey{Name: a.namespace}, configuration); err != nil {
		a.t.Fatal(err)
	}
	return string(configuration.Webhooks[0].ClientConfig.CABundle)
}

// handshake opens a new connection, which the API server does only when the caBundle changes.
func (a *admission) handshake(bundle string, now func() time.Time) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(bundle))
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, Time: now, ServerName: "engine-operator-webhook." + a.namespace + ".svc"}}
	conn, err := dialer.DialContext(a.t.Context(), "tcp", a.options.BindAddress)
	if err != nil {
		return err
	}
	return conn.Close()
}

const begin = "-----BEGIN CERTIFICATE-----"

// The clock runs fast, so that several CAs follow each other while requests never stop. The test waits for the
// rotator, which has a third of a lifetime to renew what expires.
func TestCertificateRotationFailsNoRequest(t *testing.T) {
	t.Parallel()
	a := prepare(t, nil)
	a.lifetimes = certs.Lifetimes{Authority: 15 * time.Minute, Serving: 9 * time.Minute}
	ahead := clocktesting.NewFakeClock(time.Now())
	a.clock = ahead
	a.register(true)
	a.run()
	a.active()
	const rotations = 3
	bundles, requests, both := map[string]bool{}, 0, false
	before := a.bundle()
	expect.Eventually(t, expect.Long, func() error {
		requests++
		if err := a.tryCreate("e", "{instanceRef: i, replicas: 1}"); err != nil {
			t.Fatalf("request %d, after %d bundles: %v", requests, len(bundles), err)
		}
		now := a.bundle()
		for phase, bundle := range map[string]string{"before": before, "now": now} {
			if err := a.handshake(bundle, ahead.Now); err != nil {
				t.Fatalf("a client with the caBundle of %s, after %d bundles: %v", phase, len(bundles), err)
			}
		}
		before = now
		bundles[now] = true
		both = both || strings.Count(now, begin) > 1
		if ahead.HasWaiters() {
			ahead.Step(a.lifetimes.Serving / 6)
		}
		if len(bundles) <= rotations {
			return fmt.Errorf("%d bundles so far", len(bundles))
		}
		return nil
	})
	if !both {
		t.Error("the caBundle never held the former CA together with the new one")
	}
}

func TestMountedCertificatesAreReloaded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := issue(t), issue(t)
	mount(t, dir, "first", first)
	a := prepare(t, func(o *webhook.Options) { o.CertDir = dir })
	a.register(true)
	a.run()
	a.setCABundle(first, second)
	expect.Eventually(t, expect.Long, func() error { return a.tryCreate("e", "{instanceRef: i, replicas: 1}") })
	if err := a.api.Get(t.Context(), types.NamespacedName{Namespace: a.namespace, Name: a.options.CertSecret}, &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("a Secret was created although certificates are mounted: %v", err)
	}
	mount(t, dir, "second", second)
	a.setCABundle(second) // from now on the first one is rejected
	expect.Eventually(t, expect.Long, func() error { return a.tryCreate("e", "{instanceRef: i, replicas: 1}") })
}

func issue(t *testing.T) *certs.Bundle {
	t.Helper()
	b, _, err := certs.Renew(nil, certs.HostsOf("webhook", "system"), certs.DefaultLifetimes, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// setCABundle writes the caBundle, like cert-manager.
func (a *admission) setCABundle(of ...*certs.Bundle) {
	a.t.Helper()
	var bundle []byte
	for _, b := range of {
		bundle = append(bundle, b.CABundle()...)
	}
	validating := &admissionv1.ValidatingWebhookConfiguration{}
	if err := a.api.Get(a.t.Context(), client.ObjectKey{Name: a.namespace}, validating); err != nil {
		a.t.Fatal(err)
	}
	for i := range validating.Webhooks {
		validating.Webhooks[i].ClientConfig.CABundle = bundle
	}
	if err := a.api.Update(a.t.Context(), validating); err != nil {
		a.t.Fatal(err)
	}
}

// rotator returns the rotator of one replica.
func (a *admission) rotator() (*certs.Rotator, *certs.Serving) {
	serving := &certs.Serving{}
	return certs.NewRotator(certs.Config{
		APIReader: a.api, Client: a.api, Clock: clock.RealClock{}, Configuration: a.namespace, Owner: "test", FieldManager: "test",
		Secret: types.NamespacedName{Namespace: a.namespace, Name: "certs"}, Hosts: certs.HostsOf("webhook", a.namespace),
	}, serving), serving
}

func (a *admission) servedCertificate(s *certs.Serving) string {
	a.t.Helper()
	c, err := s.GetCertificate(nil)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(c.Certificate[0])
}

func TestConcurrentReplicasShareOneCertificate(t *testing.T) {
	t.Parallel()
	a := prepare(t, nil)
	a.register(true)
	const replicas = 4
	var wg sync.WaitGroup
	serving := make([]*certs.Serving, replicas)
	for i := range replicas {
		k, s := a.rotator()
		serving[i] = s
		wg.Go(func() {
			if err := k.Reconcile(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, s := range serving[1:] {
		if a.servedCertificate(s) != a.servedCertificate(serving[0]) {
			t.Error("two replicas serve different certificates")
		}
	}
	if strings.Count(a.bundle(), begin) != 1 {
		t.Errorf("caBundle %q, want one authority", a.bundle())
	}
}

func TestCertificateSecretIsRepairedUnlessForeign(t *testing.T) {
	t.Parallel()
	a := prepare(t, nil)
	k, s := a.rotator()
	round := func() error { return k.Reconcile(t.Context()) }
	if err := round(); err != nil {
		t.Fatal(err)
	}
	before := a.servedCertificate(s)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "certs"}}

	if err := a.api.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if err := round(); err != nil || a.servedCertificate(s) != before {
		t.Errorf("a deleted Secret is not restored: %v", err)
	}
	corrupt := func(patch string) {
		if err := a.api.Patch(t.Context(), secret, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	corrupt(`{"data":{"ca.key":"Z2FyYmFnZQ=="}}`)
	if err := round(); err != nil || a.servedCertificate(s) != before {
		t.Errorf("a damaged Secret is not restored from the serving certificate: %v", err)
	}
	corrupt(`{"data":{"ca.key":"Z2FyYmFnZQ=="}}`)
	fresh, other := a.rotator()
	if err := fresh.Reconcile(t.Context()); err != nil || a.servedCertificate(other) == before {
		t.Errorf("a new rotator does not recreate a damaged Secret: %v", err)
	}
	corrupt(`{"metadata":{"labels":null},"data":{"ca.key":"Z2FyYmFnZQ=="}}`)
	checkError(t, round(), a.namespace+"/certs", "did not write", "--webhook-cert-secret")
	if err := a.api.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil || string(secret.Data["ca.key"]) != "garbage" {
		t.Errorf("a foreign Secret was changed: %q, %v", secret.Data["ca.key"], err)
	}
}

func TestLateWebhookConfigurationGetsCABundle(t *testing.T) {
	t.Parallel()
	a := prepare(t, nil)
	k, _ := a.rotator()
	if err := k.Reconcile(t.Context()); err != nil {
		t.Fatalf("without configurations: %v", err)
	}
	if err := a.api.Get(t.Context(), client.ObjectKey{Name: a.namespace}, &admissionv1.ValidatingWebhookConfiguration{}); !apierrors.IsNotFound(err) {
		t.Errorf("a configuration was created: %v", err)
	}
	a.register(true)
	if err := k.Reconcile(t.Context()); err != nil || !strings.HasPrefix(a.bundle(), begin) {
		t.Errorf("caBundle %q, %v", a.bundle(), err)
	}
	for _, file := range []string{"manifests.yaml", "service.yaml"} {
		if len(manifests(t, filepath.Join("../config/webhook", file))) == 0 {
			t.Errorf("%s is empty", file)
		}
	}
}
