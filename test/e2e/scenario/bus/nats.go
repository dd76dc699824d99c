package bus

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
	"github.com/flotilla-dev/flotilla/test/e2e/subscriber"
)

var (
	secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	claimKind  = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}
)

const (
	natsClaim   = "data-nats-0"
	consumerJob = "e2e-bus-consumer"
)

// access returns the access to the bus from outside the cluster: a node port, and the credentials of an identity.
func (b *scenario) access(ctx context.Context, identity string) (subscriber.Access, error) {
	address, err := b.NodePort(ctx, b.Data, "nats-outside")
	if err != nil {
		return subscriber.Access{}, fmt.Errorf("the bus must be reachable from outside the cluster through Service nats-outside: %w", err)
	}
	encodedURL, err := b.secret(ctx, "bus-"+identity, "url")
	if err != nil {
		return subscriber.Access{}, fmt.Errorf("get the credentials of identity %s: %w", identity, err)
	}
	internal, err := url.Parse(string(encodedURL))
	if err != nil {
		return subscriber.Access{}, fmt.Errorf("the URL of identity %s is invalid", identity) // without err, which contains the password
	}
	password, _ := internal.User.Password()
	authority, err := b.secret(ctx, "bus-ca", "ca.crt")
	return subscriber.Access{URL: "tls://" + address, User: internal.User.Username(), Password: password, Authority: authority}, err
}

func (b *scenario) secret(ctx context.Context, name, key string) ([]byte, error) {
	o, err := b.Get(ctx, secretKind, b.System, name)
	if err != nil {
		return nil, err
	}
	encoded := platform.Text(o, "data", key)
	if encoded == "" {
		return nil, fmt.Errorf("the Secret %s/%s has no key %s", b.System, name, key)
	}
	return base64.StdEncoding.DecodeString(encoded)
}

// subscribe creates the consumer, since the subscriber has no permission to do so, and starts the subscriber.
func (b *scenario) subscribe(ctx context.Context, s *run.Step) error {
	access, err := b.access(ctx, watcher)
	if err != nil {
		return err
	}
	if b.reader, err = b.access(ctx, "reader"); err != nil {
		return err
	}
	if err := b.makeConsumer(ctx, s); err != nil {
		return err
	}
	if b.outside, err = subscriber.Follow(ctx, access, s.Now); err != nil {
		return err
	}
	return s.Until(ctx, "the external subscriber reads its consumer at "+access.URL, func(context.Context) error { return b.outside.CheckQuiet() })
}

// makeConsumer creates the subscriber's consumer with a Job of the aggregator's image.
func (b *scenario) makeConsumer(ctx context.Context, s *run.Step) error {
	if err := b.removeJob(ctx); err != nil {
		return err
	}
	image, err := b.Kubectl(ctx, "", "get", "deployment", "status-aggregator", "--namespace", b.System,
		"--output", "jsonpath={.spec.template.spec.containers[0].image}")
	if err != nil {
		return err
	}
	if err := b.ApplyManifest(ctx, b.System, "bus-consumer.yaml", "${NAME}", consumerJob, "${IMAGE}", image,
		"${CONSUMER}", watcher, "${FILTER}", "flotilla.lifecycle.v1."+clusterName+"."+namespace+".>"); err != nil {
		return err
	}
	what := "Job " + consumerJob + " creates the consumer"
	if err := b.Object(platform.Jobs, b.System, consumerJob).Await(ctx, s, what, func(job *unstructured.Unstructured) error {
		if platform.Number(job, "status", "succeeded") != 1 {
			return fmt.Errorf("%d of its pods have failed", max(0, platform.Number(job, "status", "failed")))
		}
		return nil
	}); err != nil {
		return err
	}
	return b.removeJob(ctx)
}

func (b *scenario) removeJob(ctx context.Context) error {
	_, err := b.Kubectl(ctx, "", "delete", "job", consumerJob, "-n", b.System, "--ignore-not-found", "--timeout=5m")
	return err
}

// bootstrap upgrades the aggregator's chart with unchanged values; its Job creates the streams and the bucket.
func (b *scenario) bootstrap(ctx context.Context, _ *run.Step) error {
	_, err := b.Helm(ctx, "upgrade", "status-aggregator", filepath.Join(b.Root, "deploy", "charts", "status-aggregator"),
		"--namespace", b.System, "--reuse-values", "--wait", "--timeout", "5m")
	return err
}

func (b *scenario) scaleNATS(ctx context.Context, replicas int) error {
	return b.Patch(ctx, platform.StatefulSets, b.Data, "nats", fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
}

func (b *scenario) noNATS(ctx context.Context, s *run.Step) error {
	return s.Until(ctx, "NATS has no pods", func(ctx context.Context) error { return b.Leftovers(ctx, b.Data, platform.NATS, cluster.Pod) })
}

// deleteVolume deletes the claim of NATS and kills its pod, which deletes the claim and its volume.
func (b *scenario) deleteVolume(ctx context.Context, s *run.Step) error {
	before, err := b.Get(ctx, claimKind, b.Data, natsClaim)
	if err != nil {
		return err
	}
	if err := b.Client.Delete(ctx, before); err != nil {
		return fmt.Errorf("delete the claim of NATS: %w", err)
	}
	if err := b.KillPods(ctx, b.Data, platform.NATS); err != nil {
		return err
	}
	return s.Until(ctx, "NATS has a new volume", func(ctx context.Context) error {
		now, err := b.Get(ctx, claimKind, b.Data, natsClaim)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err != nil || now.GetUID() == before.GetUID() || platform.Text(now, "status", "phase") != "Bound" {
			return errors.New("the new claim is not bound")
		}
		return nil
	})
}

// pauseAndStop pauses one Superset and stops the other.
func (b *scenario) pauseAndStop(ctx context.Context, s *run.Step) error {
	return errors.Join(b.command(ctx, s, `"Paused"`, `"Stopped"`), b.conditions(ctx, s, paused, stopped))
}

// resume resumes one Superset and starts the other.
func (b *scenario) resume(ctx context.Context, s *run.Step) error {
	return errors.Join(b.command(ctx, s, "null", "null"), b.conditions(ctx, s, running, running))
}

func (b *scenario) command(ctx context.Context, s *run.Step, desk, till string) error {
	for name, command := range map[string]string{"desk": desk, "till": till} {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"operator-command":%s}}}`, command)
		if err := b.Object(platform.Supersets, namespace, name).Edit(ctx, s, patch); err != nil {
			return err
		}
	}
	return nil
}
