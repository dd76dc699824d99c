package charts

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A serving certificate is not its own CA, and the CA keeps its key. Otherwise a renewal changes certificate and CA at once,
// and clients reject the certificate until they have the new CA: for webhooks, the API server until the caBundle is injected.
func TestRenewalKeepsCA(t *testing.T) {
	checked := 0
	each(t, func(t *testing.T, service, _, values string) {
		t.Helper()
		docs := documents(t, render(t, service, "--values", values))
		for _, doc := range docs {
			if doc.GetKind() == "Certificate" && text(t, doc, "dnsNames") != "" && text(t, doc, "issuerRef", "kind") == "Issuer" {
				checked++
				checkChain(t, docs, doc)
			}
		}
	})
	if checked < 3 {
		t.Errorf("found only %d certificates with an issuer of the chart", checked)
	}
}

// The manifests for an installation without Helm have the same chain.
func TestManifestsHaveCertificatesOfChart(t *testing.T) {
	files, err := filepath.Glob("../../services/*/config/webhook/certmanager.yaml")
	if err != nil || len(files) != 2 {
		t.Fatalf("manifests %v, %v", files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		service := filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(file))))
		rendered := documents(t, render(t, service, "--values", renders(t)[service]["certmanager"]))
		manifests := documents(t, string(raw))
		if len(manifests) < 2 {
			t.Errorf("%s has %d objects", file, len(manifests))
		}
		for _, doc := range manifests {
			if diff := cmp.Diff(find(t, rendered, doc.GetKind(), doc.GetName()).Object["spec"], doc.Object["spec"]); diff != "" {
				t.Errorf("%s: %s %s (-chart +manifest):\n%s", file, doc.GetKind(), doc.GetName(), diff)
			}
		}
		checkChain(t, manifests, find(t, manifests, "Certificate", service+"-webhook"))
	}
}

func checkChain(t *testing.T, docs []*unstructured.Unstructured, leaf *unstructured.Unstructured) {
	t.Helper()
	issuer := find(t, docs, "Issuer", text(t, leaf, "issuerRef", "name"))
	for _, ca := range docs {
		if ca.GetKind() != "Certificate" || text(t, ca, "isCA") != "true" || text(t, ca, "secretName") != text(t, issuer, "ca", "secretName") {
			continue
		}
		if text(t, ca, "privateKey", "rotationPolicy") != "Never" {
			t.Errorf("the renewal of %s changes its key", ca.GetName())
		}
		if root := find(t, docs, "Issuer", text(t, ca, "issuerRef", "name")); text(t, root, "selfSigned") == "" {
			t.Errorf("the issuer of %s is not self-signed", ca.GetName())
		}
		return
	}
	t.Errorf("the issuer of %s has no CA: %s", leaf.GetName(), text(t, issuer))
}

// text returns a field of the spec as text; it is empty if the field does not exist.
func text(t *testing.T, doc *unstructured.Unstructured, fields ...string) string {
	t.Helper()
	value, found, err := unstructured.NestedFieldNoCopy(doc.Object, append([]string{"spec"}, fields...)...)
	if err != nil {
		t.Fatal(err)
	}
	if !found {
		return ""
	}
	return fmt.Sprint(value)
}
