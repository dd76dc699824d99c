package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

// modeVariable makes this test binary a service, so that tests can run real processes.
const modeVariable = "FLOTILLA_TEST_SERVICE_MODE"

// releaseVariable names a file for which Setup waits in the mode "held".
const releaseVariable = "FLOTILLA_TEST_RELEASE"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVariable); mode != "" {
		Main(testService(mode))
	}
	os.Exit(cluster.Main(m, cluster.Options{}))
}

// testService marks each ConfigMap that has the key "mark" and observes it.
func testService(mode string) Spec {
	return Spec{
		Name: "test-service",
		Setup: func(ctx context.Context, rt *Runtime) error {
			switch mode {
			case "idle":
				return nil
			case "held":
				if err := await.Nil(ctx, waitTimeout, 50*time.Millisecond, func(context.Context) error {
					_, err := os.Stat(os.Getenv(releaseVariable))
					return err
				}); err != nil {
					return err
				}
			case "closing":
				rt.AtExit(func(context.Context) error { rt.Log.Info("Closed the first"); return nil })
				rt.AtExit(func(context.Context) error { rt.Log.Info("Closed the second"); return nil })
				if err := rt.Add(manager.RunnableFunc(func(ctx context.Context) error {
					<-ctx.Done()
					rt.Log.Info("Runnable ended")
					return nil
				})); err != nil {
					return err
				}
			case "broken":
				return errors.New("nothing works")
			}
			return ctrl.NewControllerManagedBy(rt).For(&corev1.ConfigMap{}).Complete(&marker{rt})
		},
		Commands: map[string]Command{
			"greet": {Help: "Say hello", Run: func(_ context.Context, o Options, args []string) error {
				if len(args) == 0 {
					return errors.New("greet whom?")
				}
				_, err := fmt.Fprintln(os.Stdout, "hello", args[0], "with", o.Workers)
				return err
			}},
		},
		Prerequisites: func() []Prerequisite {
			required := Prerequisites(corev1.SchemeGroupVersion, "configmaps")
			if mode == "needy" {
				required = append(required, Prerequisites(schema.GroupVersion{Group: "example.dev", Version: "v1"}, "boats")...)
			}
			return required
		},
		// A short election, so that a test detects a lost lease soon.
		Election: Election{LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 300 * time.Millisecond},
	}
}

type marker struct{ rt *Runtime }

func (m *marker) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var cm corev1.ConfigMap
	if err := m.rt.GetClient().Get(ctx, req.NamespacedName, &cm); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if cm.Data["mark"] == "" {
		return ctrl.Result{}, nil
	}
	m.rt.Observations.Publish(contract.Superset, contract.Observation{
		Object: contract.Object{Namespace: cm.Namespace, Name: cm.Name, UID: string(cm.UID)}, Phase: cm.Data["mark"],
	})
	if cm.Data["marked"] == cm.Data["mark"] {
		return ctrl.Result{}, nil
	}
	cm.Data["marked"] = cm.Data["mark"]
	return ctrl.Result{}, m.rt.GetClient().Update(ctx, &cm)
}
