// Package setup puts the engine operator together: its flags, what it caches, and its
// controllers. The rest of the process (logs, bus, manager, orderly end) is
// libs/kube/service.
package setup

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/controller/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/controller/instance"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/drain"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
)

// Name is the service's name, on the bus too.
const Name = "engine-operator"

// Spec declares the service.
func Spec() service.Spec {
	images := &render.Images{}
	return service.Spec{
		Name:         Name,
		AddToScheme:  []func(*runtime.Scheme) error{v1.AddToScheme},
		Flags:        func(f *pflag.FlagSet) { imageFlags(f, images) },
		CacheOptions: trimCache,
		Setup: func(ctx context.Context, rt *service.Runtime) error {
			transports, err := transports(rt)
			if err != nil {
				return err
			}
			return Controllers(ctx, rt, *images, transports)
		},
	}
}

// imageFlags are the images of containers for which users name none.
func imageFlags(f *pflag.FlagSet, images *render.Images) {
	f.StringVar(&images.Engine, "engine-image", "ghcr.io/firebolt-db/engine:latest", "image of engines that name none")
	f.StringVar(&images.Web, "ui-image", "ghcr.io/firebolt-db/firebolt-core-ui:latest", "image of the web interface beside engines")
	f.StringVar(&images.Metadata, "metadata-image", "ghcr.io/firebolt-db/metadata:latest", "image of metadata services that name none")
	f.StringVar(&images.Postgres, "postgres-image", "postgres:16-alpine", "image of the operator's own databases")
}

// transports are the ways to ask engine pods for their queries.
func transports(rt *service.Runtime) (map[v1.ScrapeMode]drain.Transport, error) {
	core, err := kubernetes.NewForConfigAndClient(rt.GetConfig(), rt.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make a client for pods: %w", err)
	}
	return map[v1.ScrapeMode]drain.Transport{
		v1.ScrapePodIP:          drain.NewPodIP(names.PortMetrics),
		v1.ScrapeAPIServerProxy: drain.NewProxy(core.CoreV1().RESTClient()),
	}, nil
}

// Controllers registers the service's controllers. Tests give their own images and transports.
func Controllers(ctx context.Context, rt *service.Runtime, images render.Images, transports map[v1.ScrapeMode]drain.Transport) error {
	if err := engine.Index(ctx, rt.GetFieldIndexer()); err != nil {
		return err
	}
	gate, err := standalone.NewGate(rt.Manager, rt.Options.ConditionsLeaseNamespace)
	if err != nil {
		return fmt.Errorf("watch the conditions lease: %w", err)
	}
	prober := drain.NewProber(transports, rt.Clock)
	reporter := func(kind contract.Kind) *standalone.Reporter {
		return standalone.NewReporter(rt.GetClient(), gate, rt.Observations, kind, rt.Clock)
	}
	engines := engine.New(engine.Dependencies{
		Client: rt.GetClient(), Live: rt.GetAPIReader(), Reporter: reporter(contract.FireboltEngine),
		Prober: prober, Clock: rt.Clock, Images: images,
	})
	if err := engines.Register(rt.Manager, gate); err != nil {
		return err
	}
	return instance.New(instance.Dependencies{
		Client: rt.GetClient(), Live: rt.GetAPIReader(), Reporter: reporter(contract.FireboltInstance),
		Clock: rt.Clock, Images: images, EngineIndex: engine.IndexInstance,
		NewID: ids(rt.Clock), NewPassword: password,
	}).Register(rt.Manager, gate)
}

// ids makes ULIDs from the clock and the system's randomness.
func ids(clk clock.PassiveClock) func() (string, error) {
	return func() (string, error) {
		id, err := ulid.New(ulid.Timestamp(clk.Now()), rand.Reader)
		if err != nil {
			return "", fmt.Errorf("make a ULID: %w", err)
		}
		return id.String(), nil
	}
}

// password is 24 hexadecimal digits, 96 bits.
func password() (string, error) {
	raw := make([]byte, 12)
	if _, err := rand.Read(raw); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	return hex.EncodeToString(raw), nil
}

// trimCache keeps the content of foreign objects out of memory: of pods only those of
// engines are watched, of the other kinds strangers keep their metadata only.
func trimCache(o *cache.Options) {
	if o.ByObject == nil {
		o.ByObject = map[client.Object]cache.ByObject{}
	}
	o.ByObject[&corev1.Pod{}] = cache.ByObject{Label: hasLabel(names.LabelEngine), Transform: cache.TransformStripManagedFields()}
	o.ByObject[&corev1.ConfigMap{}] = cache.ByObject{Transform: trim}
	o.ByObject[&corev1.Service{}] = cache.ByObject{Transform: trim}
	o.ByObject[&appsv1.StatefulSet{}] = cache.ByObject{Transform: trim}
	o.ByObject[&appsv1.Deployment{}] = cache.ByObject{Transform: trim}
}
