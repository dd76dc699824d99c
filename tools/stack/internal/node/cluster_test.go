package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDigests(t *testing.T) {
	const table = `REF                              TYPE                                     DIGEST    SIZE     PLATFORMS   LABELS
docker.io/flotilla/ingester:dev  application/vnd.oci.image.manifest.v1+json sha256:aa 60.1 MiB linux/amd64 io.cri-containerd.image=managed
docker.io/library/nats:2.15-alpine application/vnd.oci.image.index.v1+json sha256:bb 18.2 MiB linux/amd64 -
`
	got, err := digests(table)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"docker.io/flotilla/ingester:dev": "sha256:aa", "docker.io/library/nats:2.15-alpine": "sha256:bb"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := digests("refused\n"); err == nil {
		t.Error("a line without a digest is accepted")
	}
}
