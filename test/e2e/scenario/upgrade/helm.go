package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

// Tags of the services' images.
const (
	currentTag  = "dev"
	previousTag = "previous"
)

func charts(p *platform.Platform) string { return filepath.Join(p.Root, "deploy", "charts") }

// requirePrevious returns an error if the charts of the previous commit are not available.
func (u *upgrades) requirePrevious() error {
	for service := range platform.ServiceLeases {
		if _, err := os.Stat(filepath.Join(u.Previous, service, "Chart.yaml")); u.Previous == "" || err != nil {
			return fmt.Errorf("no charts of an earlier commit in %q: set --previous to their directory, and load the images "+
				"flotilla/<service>:%s into the cluster; make e2e does both", u.Previous, previousTag)
		}
	}
	return nil
}

// install upgrades the CRDs and the services from a directory of charts. As in docs/upgrading.md, the CRDs of a service
// come first. It upgrades all services at the same time.
func (u *upgrades) install(charts, tag string) run.Action {
	return func(ctx context.Context, s *run.Step) error {
		u.tag = tag
		return u.eachService(ctx, s, func(ctx context.Context, service string) error {
			if definitions := filepath.Join(charts, service+"-crds"); exists(definitions) {
				if _, err := u.Helm(ctx, "upgrade", service+"-crds", definitions, "-n", u.System, "--reset-then-reuse-values"); err != nil {
					return err
				}
			}
			_, err := u.Helm(ctx, "upgrade", service, filepath.Join(charts, service), "-n", u.System, "--reset-then-reuse-values",
				"--set", "image.tag="+tag, "--wait", "--timeout", "5m")
			return err
		})
	}
}

// rollBack rolls each service back to its previous Helm release. CRDs stay, as docs/upgrading.md allows.
func (u *upgrades) rollBack(ctx context.Context, s *run.Step) error {
	u.tag = previousTag
	return u.eachService(ctx, s, func(ctx context.Context, service string) error {
		_, err := u.Helm(ctx, "rollback", service, "-n", u.System, "--wait", "--timeout", "5m")
		return err
	})
}

// eachService calls exchange for all services at the same time, and waits until all their pods run u.tag.
func (u *upgrades) eachService(ctx context.Context, s *run.Step, replace func(context.Context, string) error) error {
	var all []run.Action
	for service := range platform.ServiceLeases {
		all = append(all, func(ctx context.Context, _ *run.Step) error {
			if err := replace(ctx, service); err != nil {
				return err
			}
			return u.deployed(ctx, service)
		})
	}
	if err := run.InParallel(all...)(ctx, s); err != nil {
		return err
	}
	for service := range platform.ServiceLeases {
		if err := s.Until(ctx, "only pods of "+service+":"+u.tag+" run", func(ctx context.Context) error {
			return u.replaced(ctx, service)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (u *upgrades) deployed(ctx context.Context, service string) error {
	status, err := u.release(ctx, service)
	if err == nil && status != "deployed" {
		err = fmt.Errorf("release %s is %q", service, status)
	}
	return err
}

// release returns the status of a Helm release.
func (u *upgrades) release(ctx context.Context, name string) (status string, err error) {
	out, err := u.Helm(ctx, "status", name, "-n", u.System, "-o", "json")
	if err != nil {
		return "", err
	}
	var release struct {
		Info struct{ Status string }
	}
	if err := json.Unmarshal([]byte(out), &release); err != nil {
		return "", fmt.Errorf("read helm status of %s: %w", name, err)
	}
	return release.Info.Status, nil
}

// unlock rolls back an interrupted upgrade, which Helm reports as pending and which blocks further upgrades.
func (u *upgrades) unlock(ctx context.Context) error {
	var problems []error
	for service := range platform.ServiceLeases {
		status, err := u.release(ctx, service)
		if err == nil && strings.HasPrefix(status, "pending-") {
			u.tag = previousTag // maybe: it makes clean install the present one
			_, err = u.Helm(ctx, "rollback", service, "-n", u.System)
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// replaced returns the first difference from the desired state: all pods have the new image, are ready and were never
// restarted, and hold the Leases of the service.
func (u *upgrades) replaced(ctx context.Context, service string) error {
	deployment, err := u.Get(ctx, platform.Deployments, u.System, service)
	if err != nil {
		return err
	}
	pods, err := u.List(ctx, cluster.Pod, u.System, client.MatchingLabels(map[string]string{"app.kubernetes.io/name": service}))
	if err != nil {
		return err
	}
	ready := map[string]bool{}
	for i := range pods {
		pod := &pods[i]
		image, err := firstImage(pod)
		restarts, err2 := platform.Restarts(pod)
		switch err := errors.Join(err, err2); {
		case err != nil:
			return err
		case !strings.HasSuffix(image, ":"+u.tag) || pod.GetDeletionTimestamp() != nil:
			return fmt.Errorf("pod %s with image %s still exists", pod.GetName(), image)
		case restarts > 0:
			return fmt.Errorf("pod %s restarted %d times", pod.GetName(), restarts)
		}
		if err := platform.IsTrue(pod, "Ready"); err != nil {
			return fmt.Errorf("pod %s: %w", pod.GetName(), err)
		}
		ready[pod.GetName()] = true
	}
	if want := platform.Number(deployment, "spec", "replicas"); int64(len(ready)) != want {
		return fmt.Errorf("%d of %d pods are ready", len(ready), want)
	}
	for _, name := range platform.ServiceLeases[service] {
		lease, err := u.Get(ctx, platform.Leases, u.System, name)
		if err != nil {
			return err
		}
		if holder, _, _ := strings.Cut(platform.Text(lease, "spec", "holderIdentity"), "_"); !ready[holder] {
			return fmt.Errorf("lease %s is held by %q", name, holder)
		}
	}
	return nil
}

// firstImage returns the image of a pod's first container.
func firstImage(pod *unstructured.Unstructured) (string, error) {
	containers, _, err := unstructured.NestedSlice(pod.Object, "spec", "containers")
	if err != nil || len(containers) == 0 {
		return "", err
	}
	first, ok := containers[0].(map[string]any)
	if !ok {
		return "", fmt.Errorf("the first container of pod %s is %v", pod.GetName(), containers[0])
	}
	return fmt.Sprint(first["image"]), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
