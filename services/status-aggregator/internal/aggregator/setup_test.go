package aggregator

import (
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/kube/service"
)

func TestValidateNamesTheMissingSetting(t *testing.T) {
	err := Validate(service.Options{})
	if err == nil || !strings.Contains(err.Error(), "--nats-url") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line that names --nats-url", err)
	}
	if err := Validate(service.Options{NATSURL: "nats://localhost:4222"}); err != nil {
		t.Error(err)
	}
	if spec := Spec(); spec.Name != Name || spec.Setup == nil || spec.Validate == nil || spec.CacheOptions == nil {
		t.Errorf("spec %+v is incomplete", spec.Name)
	}
}
