package evidence

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/view"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
)

// maxEvents is the maximum number of events in a report.
const maxEvents = 10

// Input is the input of [FromCluster].
type Input struct {
	Kube     kubernetes.Interface
	Kind     contract.Kind
	Resource *unstructured.Unstructured
	// Reason is the reason for reading the cluster itself.
	Reason string
	Now    time.Time
}

// collector reads the kinds of objects one by one; it records read errors and continues.
type collector struct {
	Input
	namespace string
	owner     types.UID
	report    *Report
	pods      []corev1.Pod
	// lacking are the workloads without pods for which only events report the cause.
	lacking map[types.UID]string
}

// FromCluster reads the resource and its owned objects, as far as the caller has permission. It classifies pod
// failures with the rules and messages of the operators.
func FromCluster(ctx context.Context, q Input) Report {
	u := q.Resource
	report := Report{
		Source: Cluster, Reason: q.Reason, Resource: view.Of(q.Kind, u), Writers: Writers(u), Observation: &contract.Observation{},
	}
	l := &collector{Input: q, namespace: u.GetNamespace(), owner: u.GetUID(), report: &report, lacking: map[types.UID]string{}}
	l.readPods(ctx)
	l.deployments(ctx)
	l.statefulSets(ctx)
	l.jobs(ctx)
	l.events(ctx, u)
	return report
}

func (l *collector) recordError(resource string, err error) {
	l.report.ReadErrors = append(l.report.ReadErrors, fmt.Sprintf("%s: %v", resource, err))
}

func (l *collector) owns(o metav1.Object) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == l.owner })
}

func (l *collector) readPods(ctx context.Context) {
	list, err := l.Kube.CoreV1().Pods(l.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		l.recordError("pods", err)
		return
	}
	l.pods = list.Items
}

func (l *collector) matching(selector *metav1.LabelSelector) []corev1.Pod {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil // the API server rejects such a workload
	}
	var out []corev1.Pod
	for i := range l.pods {
		if s.Matches(labels.Set(l.pods[i].Labels)) {
			out = append(out, l.pods[i])
		}
	}
	return out
}

func (l *collector) deployments(ctx context.Context) {
	list, err := l.Kube.AppsV1().Deployments(l.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		l.recordError("deployments", err)
		return
	}
	for i := range list.Items {
		if d := &list.Items[i]; l.owns(d) {
			l.addUnit(workload.Deployment(unit(d), d, l.inputs(d.Spec.Selector)))
		}
	}
}

func (l *collector) statefulSets(ctx context.Context) {
	list, err := l.Kube.AppsV1().StatefulSets(l.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		l.recordError("statefulsets", err)
		return
	}
	for i := range list.Items {
		s := &list.Items[i]
		if !l.owns(s) {
			continue
		}
		u := workload.StatefulSet(unit(s), s, l.inputs(s.Spec.Selector))
		l.addUnit(u)
		if u.Current < u.Desired {
			l.lacking[s.UID] = "statefulset/" + s.Name
		}
	}
}

// unit returns what the workload itself does not declare; its replicas are the desired ones.
func unit(o metav1.Object) contract.Unit { return contract.Unit{Name: o.GetName(), Desired: -1} }

func (l *collector) inputs(selector *metav1.LabelSelector) workload.Inputs {
	return workload.Inputs{Pods: l.matching(selector), Now: l.Now}
}

func (l *collector) addUnit(u contract.Unit) {
	l.report.Observation.Units = append(l.report.Observation.Units, u)
}

func (l *collector) jobs(ctx context.Context) {
	list, err := l.Kube.BatchV1().Jobs(l.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		l.recordError("jobs", err)
		return
	}
	for i := range list.Items {
		j := &list.Items[i]
		if l.owns(j) {
			l.report.Observation.Jobs = append(l.report.Observation.Jobs, l.job(j))
		}
	}
}

func (l *collector) job(j *batchv1.Job) contract.Job {
	out := workload.Job(j.Name, j)
	if out.State == contract.JobComplete || out.State == contract.JobFailed {
		return out
	}
	if j.Status.Active == 0 {
		l.lacking[j.UID] = "job/" + j.Name
	}
	if f := workload.Failures(l.matching(j.Spec.Selector), l.Now); len(f) > 0 {
		out.Message = string(f[0].Class) + ": " + f[0].Message
	}
	return out
}

// events reads the events of the resource, and the warnings of its failing pods and of workloads that lack pods.
func (l *collector) events(ctx context.Context, u *unstructured.Unstructured) {
	refs := maps.Clone(l.lacking)
	refs[u.GetUID()] = l.report.Resource.Ref()
	for i := range l.pods {
		if l.inUnit(l.pods[i].Name) {
			refs[l.pods[i].UID] = "pod/" + l.pods[i].Name
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(refs)) {
		list, err := l.Kube.CoreV1().Events(l.namespace).List(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector("involvedObject.uid", string(uid)).String(),
		})
		if err != nil {
			l.recordError("events", err)
			break
		}
		for i := range list.Items {
			e := &list.Items[i]
			if uid == u.GetUID() || e.Type == corev1.EventTypeWarning {
				l.report.Events = append(l.report.Events, eventOf(refs[uid], e))
			}
		}
	}
	slices.SortFunc(l.report.Events, func(a, b Event) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Reason, b.Reason))
	})
	l.report.Events = l.report.Events[:min(maxEvents, len(l.report.Events))]
}

// inUnit reports whether a failure of an owned workload lists the pod as an example.
func (l *collector) inUnit(pod string) bool {
	for _, u := range l.report.Observation.Units {
		for _, f := range u.Failures {
			if slices.Contains(f.Examples, pod) {
				return true
			}
		}
	}
	return false
}

// eventOf returns the latest occurrence of an event.
func eventOf(object string, e *corev1.Event) Event {
	count, last := workload.Occurrences(e)
	return Event{Time: last.UTC(), Type: e.Type, Object: object, Reason: e.Reason, Count: count, Message: e.Message}
}
