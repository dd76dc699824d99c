// Package app wires the engine operator: its flags, its cache, and its
// controllers. Logging, the bus, the manager and graceful shutdown are in
// libs/kube/service.
package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"slices"

	"github.com/oklog/ulid/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/intern"
	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/controller/class"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/controller/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/controller/instance"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/drain"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/removefinalizers"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/webhook"
)

// Name is the name of the service, also on the bus.
const Name = "engine-operator"

// Spec returns the description of the service.
func Spec() service.Spec {
	options := &Options{}
	return service.Spec{
		Name:           Name,
		AddToScheme:    []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
		Flags:          options.addFlags,
		Validate:       func(service.Options) error { return options.validate() },
		CacheOptions:   trimCache,
		ManagerOptions: options.Admission.ManagerOptions,
		Prerequisites:  prerequisites,
		Setup: func(ctx context.Context, rt *service.Runtime) error {
			transports, err := transports(rt)
			if err != nil {
				return err
			}
			if err := admission(ctx, rt, options.Admission); err != nil {
				return err
			}
			if err := metrics.Register(ctrlmetrics.Registry, metrics.FromCache(rt.GetClient())); err != nil {
				return err
			}
			return Controllers(ctx, rt, *options, transports)
		},
		Commands: removefinalizers.Commands(),
	}
}

// prerequisites returns the kinds that the controllers watch.
func prerequisites() []service.Prerequisite {
	return slices.Concat(
		service.Prerequisites(v1alpha1.GroupVersion, "fireboltengines", "fireboltengineclasses", "fireboltinstances"),
		service.Prerequisites(appsv1.SchemeGroupVersion, "statefulsets", "deployments"),
		service.Prerequisites(corev1.SchemeGroupVersion, "services", "configmaps", "serviceaccounts", "pods"),
		service.Prerequisites(policyv1.SchemeGroupVersion, "poddisruptionbudgets"),
	)
}

// admission serves the webhooks on each replica.
func admission(ctx context.Context, rt *service.Runtime, o webhook.Options) error {
	return webhook.Register(ctx, rt.Manager, o, webhook.Config{
		NewID: ids(rt.Clock), Clock: rt.Clock, Registerer: ctrlmetrics.Registry,
		// Without leader election that namespace may be unknown.
		Namespace: cmp.Or(rt.Options.LeaderElectionNamespace, rt.Options.ConditionsLeaseNamespace), Watched: rt.Options.WatchNamespaces,
	})
}

// transports returns the clients that query engine pods for their running queries, by scrape mode.
func transports(rt *service.Runtime) (map[v1alpha1.ScrapeMode]drain.Transport, error) {
	proxy, err := drain.NewProxy(rt.GetConfig(), rt.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	return map[v1alpha1.ScrapeMode]drain.Transport{v1alpha1.ScrapePodIP: drain.NewPodIP(names.PortMetrics), v1alpha1.ScrapeAPIServerProxy: proxy}, nil
}

// Controllers registers the service's controllers. Tests pass their own options and transports.
func Controllers(ctx context.Context, rt *service.Runtime, o Options, transports map[v1alpha1.ScrapeMode]drain.Transport) error {
	if err := engine.Index(ctx, rt.GetFieldIndexer()); err != nil {
		return err
	}
	lease, err := standalone.NewLeaseWatcher(rt.Manager, rt.Options.ConditionsLeaseNamespace)
	if err != nil {
		return fmt.Errorf("watch conditions Lease: %w", err)
	}
	prober := drain.NewProber(transports, rt.Clock)
	reporter := func(kind contract.Kind) *standalone.Reporter {
		return standalone.NewReporter(rt.GetClient(), lease, rt.Observations, kind, rt.Clock)
	}
	core, err := typedcorev1.NewForConfigAndClient(rt.GetConfig(), rt.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("create events client: %w", err)
	}
	engines := engine.New(engine.Config{
		Client: rt.GetClient(), APIReader: rt.GetAPIReader(), Reporter: reporter(contract.FireboltEngine),
		Recorder: rt.GetEventRecorder("engine-controller"), Events: core,
		Prober: prober, Clock: rt.Clock, Images: o.Images, Bounds: o.Admission.Bounds(), MaxRollouts: o.MaxRollouts,
	})
	if err := engines.SetupWithManager(rt.Manager, lease); err != nil {
		return err
	}
	classes := class.New(class.Config{
		Client: rt.GetClient(), APIReader: rt.GetAPIReader(), Recorder: rt.GetEventRecorder("class-controller"),
		Clock: rt.Clock,
	})
	if err := classes.SetupWithManager(rt.Manager); err != nil {
		return err
	}
	return instance.New(instance.Config{
		Client: rt.GetClient(), APIReader: rt.GetAPIReader(), Reporter: reporter(contract.FireboltInstance),
		Recorder: rt.GetEventRecorder("instance-controller"),
		Clock:    rt.Clock, Images: o.Images,
		ListenAddress: listenAddress(os.Getenv("POD_IP")), NewID: ids(rt.Clock), NewPassword: password,
	}).SetupWithManager(rt.Manager, lease)
}

// listenAddress returns the address of all interfaces in the family of the cluster, which is that of the operator's pod. On
// IPv4, pods do not listen on ::, which fails on a node whose kernel has IPv6 disabled.
func listenAddress(podIP string) netip.Addr {
	if ip, err := netip.ParseAddr(podIP); err == nil && ip.Is6() {
		return netip.IPv6Unspecified()
	}
	return netip.IPv4Unspecified()
}

// ids returns a generator of ULIDs from the clock and the system's random source.
func ids(clk clock.PassiveClock) func() (string, error) {
	return func() (string, error) {
		id, err := ulid.New(ulid.Timestamp(clk.Now()), rand.Reader)
		if err != nil {
			return "", fmt.Errorf("generate ULID: %w", err)
		}
		return id.String(), nil
	}
}

// password returns 24 random hexadecimal digits, 96 bits.
func password() (string, error) {
	raw := make([]byte, 12)
	if _, err := rand.Read(raw); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	return hex.EncodeToString(raw), nil
}

// trimCache keeps foreign objects out of memory: only the pods of engines
// are cached; foreign objects of other kinds keep only their metadata. The others share equal parts.
func trimCache(o *cache.Options) {
	if o.ByObject == nil {
		o.ByObject = map[client.Object]cache.ByObject{}
	}
	o.DefaultTransform = intern.Transform
	o.ByObject[&corev1.Pod{}] = cache.ByObject{Label: hasLabel(names.LabelEngine), Transform: workload.TrimPod}
	o.ByObject[&corev1.ConfigMap{}] = cache.ByObject{Transform: trim}
	o.ByObject[&corev1.Service{}] = cache.ByObject{Transform: trim}
	o.ByObject[&appsv1.StatefulSet{}] = cache.ByObject{Transform: trim}
	o.ByObject[&appsv1.Deployment{}] = cache.ByObject{Transform: trim}
	o.ByObject[&corev1.ServiceAccount{}] = cache.ByObject{Label: hasLabel(names.LabelInstance)}
	o.ByObject[&policyv1.PodDisruptionBudget{}] = cache.ByObject{Label: hasLabel(names.LabelInstance)}
}
