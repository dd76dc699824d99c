// Package app configures the cache, the prerequisites and the controller of the Superset operator. The rest of the
// process (logs, bus, manager, shutdown) is in libs/kube/service.
package app

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/intern"
	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/controller/superset"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/metrics"
)

// Name is the name of the service, which the bus also uses.
const Name = "superset-operator"

// Spec returns the specification of the service.
func Spec() service.Spec {
	return service.Spec{
		Name:          Name,
		AddToScheme:   []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
		CacheOptions:  CacheOptions,
		Prerequisites: prerequisites,
		Setup: func(ctx context.Context, rt *service.Runtime) error {
			if err := metrics.Register(ctrlmetrics.Registry, metrics.FromCache(rt.GetClient())); err != nil {
				return err
			}
			return Controllers(ctx, rt)
		},
	}
}

// prerequisites returns the kinds that the operator requires, without the kinds of package optional.
func prerequisites() []service.Prerequisite {
	return slices.Concat(
		service.Prerequisites(v1alpha1.GroupVersion, "supersets"),
		service.Prerequisites(appsv1.SchemeGroupVersion, "deployments"),
		service.Prerequisites(batchv1.SchemeGroupVersion, "jobs"),
		service.Prerequisites(corev1.SchemeGroupVersion, "services", "configmaps", "serviceaccounts", "pods"),
		service.Prerequisites(autoscalingv2.SchemeGroupVersion, "horizontalpodautoscalers"),
		service.Prerequisites(policyv1.SchemeGroupVersion, "poddisruptionbudgets"),
		service.Prerequisites(networkingv1.SchemeGroupVersion, "ingresses", "networkpolicies"),
	)
}

// Controllers registers the controller of the service.
func Controllers(ctx context.Context, rt *service.Runtime) error {
	lease, err := standalone.NewLeaseWatcher(rt.Manager, rt.Options.ConditionsLeaseNamespace)
	if err != nil {
		return fmt.Errorf("watch the conditions lease: %w", err)
	}
	return superset.New(superset.Config{
		Client: rt.GetClient(), APIReader: rt.GetAPIReader(),
		Reporter: standalone.NewReporter(rt.GetClient(), lease, rt.Observations, contract.Superset, rt.Clock),
		Recorder: rt.GetEventRecorder("superset-controller"), Clock: rt.Clock,
		Namespaces: rt.Options.WatchNamespaces, IPv6: isIPv6(os.Getenv("POD_IP")),
	}).SetupWithManager(ctx, rt.Manager, lease, rt.Options.Workers)
}

// isIPv6 reports whether the operator's pod, and so those of its cluster, have IPv6 addresses. On IPv4, pods do not listen on
// ::, which fails on a node whose kernel has IPv6 disabled.
func isIPv6(podIP string) bool {
	ip, err := netip.ParseAddr(podIP)
	return err == nil && ip.Is6()
}

// CacheOptions restricts the cache to objects with the label that this operator and the legacy one set on all of
// their objects.
func CacheOptions(o *cache.Options) {
	byLabel := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{v1alpha1.LabelName: v1alpha1.NameValue})}
	if o.ByObject == nil {
		o.ByObject = map[client.Object]cache.ByObject{}
	}
	for _, obj := range []client.Object{
		&appsv1.Deployment{}, &batchv1.Job{}, &corev1.Service{}, &corev1.ServiceAccount{},
		&autoscalingv2.HorizontalPodAutoscaler{}, &policyv1.PodDisruptionBudget{},
		&networkingv1.Ingress{}, &networkingv1.NetworkPolicy{},
	} {
		o.ByObject[obj] = byLabel
	}
	o.DefaultTransform = intern.Transform
	o.ByObject[&corev1.Pod{}] = cache.ByObject{Label: byLabel.Label, Transform: workload.TrimPod}
	o.ByObject[&corev1.ConfigMap{}] = cache.ByObject{Label: byLabel.Label, Transform: trimConfigMap}
}

// trimConfigMap keeps digests of the files, which only the applier compares.
func trimConfigMap(obj any) (any, error) {
	if _, err := apply.DigestData(obj); err != nil {
		return obj, err
	}
	return intern.Transform(obj)
}
