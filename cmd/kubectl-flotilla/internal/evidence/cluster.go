package evidence

import (
	"cmp"
	"context"
	"fmt"
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
	"k8s.io/utils/ptr"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/view"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
)

// mostEvents is the maximum number of events in a report.
const mostEvents = 10

// Question is the input of [FromCluster].
type Question struct {
	Kube     kubernetes.Interface
	Kind     contract.Kind
	Resource *unstructured.Unstructured
	// Why is the reason for reading the cluster itself.
	Why string
	Now time.Time
}

// look reads the kinds of objects one by one; it records read errors and continues.
type look struct {
	Question
	namespace string
	owner     types.UID
	report    *Report
	pods      []corev1.Pod
}

// FromCluster reads the resource and its owned objects, as far as the caller has permission. It classifies pod
// failures with the rules and messages of the operators.
func FromCluster(ctx context.Context, q Question) Report {
	u := q.Resource
	report := Report{
		Source: Cluster, Why: q.Why, Resource: view.Of(q.Kind, u), Writers: Writers(u), Observation: &contract.Observation{},
	}
	l := &look{Question: q, namespace: u.GetNamespace(), owner: u.GetUID(), report: &report}
	l.readPods(ctx)
	l.deployments(ctx)
	l.statefulSets(ctx)
	l.jobs(ctx)
	l.events(ctx, u)
	return report
}

func (l *look) unread(what string, err error) {
	l.report.Unread = append(l.report.Unread, fmt.Sprintf("%s: %v", what, err))
}

func (l *look) owns(o metav1.Object) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == l.owner })
}

func (l *look) readPods(ctx context.Context) {
	list, err := l.Kube.CoreV1().Pods(l.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		l.unread("pods", err)
		return
	}
	l.pods = list.Items
}

func (l *look) matching(selector *metav1.LabelSelector) []corev1.Pod {
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

func (l *look) deployments(ctx context.Context) {
	list, err := l.Kube.AppsV1().Deployments(l.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		l.unread("deployments", err)
		return
	}
	for i := range list.Items {
		d := &list.Items[i]
		if l.owns(d) {
			l.add(contract.Unit{
				Name: d.Name, Kind: "Deployment", Observed: d.Status.ObservedGeneration >= d.Generation,
				Desired: ptr.Deref(d.Spec.Replicas, 1), Current: d.Status.Replicas, Updated: d.Status.UpdatedReplicas,
				Ready: d.Status.ReadyReplicas, Available: d.Status.AvailableReplicas,
			}, d.Spec.Selector)
		}
	}
}

func (l *look) statefulSets(ctx context.Context) {
	list, err := l.Kube.AppsV1().StatefulSets(l.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		l.unread("statefulsets", err)
		return
	}
	for i := range list.Items {
		s := &list.Items[i]
		if l.owns(s) {
			l.add(contract.Unit{
				Name: s.Name, Kind: "StatefulSet", Observed: s.Status.ObservedGeneration >= s.Generation,
				Desired: ptr.Deref(s.Spec.Replicas, 1), Current: s.Status.Replicas, Updated: s.Status.UpdatedReplicas,
				Ready: s.Status.ReadyReplicas, Available: s.Status.AvailableReplicas,
			}, s.Spec.Selector)
		}
	}
}

func (l *look) add(u contract.Unit, selector *metav1.LabelSelector) {
	u.Present, u.Failures = true, workload.Failures(l.matching(selector), l.Now)
	l.report.Observation.Units = append(l.report.Observation.Units, u)
}

func (l *look) jobs(ctx context.Context) {
	list, err := l.Kube.BatchV1().Jobs(l.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		l.unread("jobs", err)
		return
	}
	for i := range list.Items {
		j := &list.Items[i]
		if l.owns(j) {
			l.report.Observation.Jobs = append(l.report.Observation.Jobs, l.job(j))
		}
	}
}

func (l *look) job(j *batchv1.Job) contract.Job {
	out := contract.Job{Name: j.Name, State: contract.JobPending}
	if j.Status.Active > 0 {
		out.State = contract.JobRunning
	}
	for _, c := range j.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			out.State = contract.JobComplete
		case batchv1.JobFailed:
			out.State, out.Message = contract.JobFailed, c.Message
		default: // the Job has not ended
		}
	}
	if f := workload.Failures(l.matching(j.Spec.Selector), l.Now); out.Message == "" && len(f) > 0 && out.State != contract.JobComplete {
		out.Message = string(f[0].Class) + ": " + f[0].Message
	}
	return out
}

// events reads the events of the resource and the warnings of its failing pods.
func (l *look) events(ctx context.Context, u *unstructured.Unstructured) {
	about := map[types.UID]string{u.GetUID(): l.report.Resource.Ref()}
	for i := range l.pods {
		if l.inUnit(l.pods[i].Name) {
			about[l.pods[i].UID] = "pod/" + l.pods[i].Name
		}
	}
	for uid, name := range about {
		list, err := l.Kube.CoreV1().Events(l.namespace).List(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector("involvedObject.uid", string(uid)).String(),
		})
		if err != nil {
			l.unread("events", err)
			return
		}
		for i := range list.Items {
			e := &list.Items[i]
			if uid == u.GetUID() || e.Type == corev1.EventTypeWarning {
				l.report.Events = append(l.report.Events, eventOf(name, e))
			}
		}
	}
	slices.SortFunc(l.report.Events, func(a, b Event) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Reason, b.Reason))
	})
	l.report.Events = l.report.Events[:min(mostEvents, len(l.report.Events))]
}

// inUnit reports whether a failure of an owned workload lists the pod as an example.
func (l *look) inUnit(pod string) bool {
	for _, u := range l.report.Observation.Units {
		for _, f := range u.Failures {
			if slices.Contains(f.Examples, pod) {
				return true
			}
		}
	}
	return false
}

func eventOf(object string, e *corev1.Event) Event {
	at := e.LastTimestamp.Time
	if at.IsZero() {
		at = e.EventTime.Time
	}
	if at.IsZero() {
		at = e.CreationTimestamp.Time
	}
	return Event{Time: at.UTC(), Type: e.Type, Object: object, Reason: e.Reason, Count: max(1, e.Count), Message: e.Message}
}
