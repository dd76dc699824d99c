package instance

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/createfailure"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

var testTime = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// podReader lists pods and counts the lists.
type podReader struct {
	client.Reader
	pods  []corev1.Pod
	err   error
	lists int
}

func (r *podReader) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	r.lists++
	if list, ok := into.(*corev1.PodList); ok {
		list.Items = r.pods
	}
	return r.err
}

// databasePod returns a pod of the StatefulSet with the UID "pg" that has not changed for a while.
func databasePod(name string, unchanged time.Duration) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(testTime.Add(-24 * time.Hour))}}
	p.OwnerReferences = []metav1.OwnerReference{{UID: "pg", Controller: new(true)}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, LastTransitionTime: metav1.NewTime(testTime.Add(-unchanged))}}
	return p
}

func TestDatabasePodsAreReadOnlyWhileOneIsMissing(t *testing.T) {
	foreign := databasePod("by-hand", 0)
	foreign.OwnerReferences = nil
	noPod := func(s *reconcileState) { s.database.Status.Replicas = 0 }
	for name, tc := range map[string]struct {
		change       func(*reconcileState)
		pods         []corev1.Pod
		err          error
		want         []string
		requeueAfter time.Duration
	}{
		"a pod that has just changed":       {pods: []corev1.Pod{foreign, databasePod("pg-0", time.Second)}, want: []string{"pg-0"}, requeueAfter: createfailure.Refresh},
		"a pod that has long not changed":   {pods: []corev1.Pod{databasePod("pg-0", time.Minute)}, want: []string{"pg-0"}, requeueAfter: 30 * time.Second},
		"a pod that is not created yet":     {requeueAfter: createfailure.Refresh},
		"the API server is unavailable":     {err: errors.New("unavailable"), requeueAfter: requeueFailure},
		"a database without pods":           {change: noPod},
		"an available database":             {change: func(s *reconcileState) { s.database.Status.AvailableReplicas = 1 }},
		"a stopped database":                {change: func(s *reconcileState) { s.database.Spec.Replicas = new(int32) }},
		"a database that is deleted":        {change: func(s *reconcileState) { s.database.DeletionTimestamp = &metav1.Time{} }},
		"no database":                       {change: func(s *reconcileState) { s.database = nil }},
		"a database that is no longer used": {change: func(s *reconcileState) { s.instance.Spec.Metadata.Postgres = &v1alpha1.PostgresSpec{} }},
		"the metadata service is overdue soon": {
			change: func(s *reconcileState) {
				s.metadata.Deployment = unavailableSince(testTime.Add(-10*time.Minute + 5*time.Second))
			},
			pods: []corev1.Pod{databasePod("pg-0", time.Hour)}, want: []string{"pg-0"}, requeueAfter: 5 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			reader := &podReader{pods: tc.pods, err: tc.err}
			s := &reconcileState{instance: &v1alpha1.FireboltInstance{}, database: &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{UID: "pg"}}}
			s.database.Status.Replicas = 1
			if tc.change != nil {
				tc.change(s)
			}
			r := &Reconciler{Config: Config{APIReader: reader, Clock: testclock.NewFakePassiveClock(testTime)}}
			requeueAfter := r.readDatabasePods(t.Context(), s)
			var got []string
			for _, p := range s.databasePods {
				got = append(got, p.Name)
			}
			if !slices.Equal(got, tc.want) || requeueAfter != tc.requeueAfter || (reader.lists > 0) != (tc.requeueAfter > 0) {
				t.Errorf("pods %v, again in %s after %d lists, want %v, %s", got, requeueAfter, reader.lists, tc.want, tc.requeueAfter)
			}
		})
	}
}

// unavailableSince returns a Deployment that has lacked its pod since a time.
func unavailableSince(at time.Time) *appsv1.Deployment {
	return &appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(at),
	}}}}
}
