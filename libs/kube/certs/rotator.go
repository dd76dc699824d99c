package certs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Label marks a service's own Secret with [Config].Owner: the Rotator changes no other Secret.
const Label = "app.kubernetes.io/managed-by"

const (
	checkInterval    = time.Minute     // more often when certificates are valid for less than six minutes
	retryAfter       = 5 * time.Second // after a failure, doubled after each further one
	reconcileTimeout = 30 * time.Second
)

// Config configures a [Rotator].
type Config struct {
	// APIReader is used for Secrets: no Secret is cached, so the service needs no permission to
	// list Secrets.
	APIReader client.Reader
	Client    client.Writer
	Clock     clock.WithTicker
	// Secret names the Secret with the certificates.
	Secret types.NamespacedName
	// Owner is the value of [Label] on the Secret, FieldManager our name in managedFields.
	Owner, FieldManager string
	// Configuration names the ValidatingWebhookConfiguration and the
	// MutatingWebhookConfiguration that must trust them.
	Configuration string
	Hosts         Hosts
	// Lifetimes are [DefaultLifetimes] when they are zero.
	Lifetimes Lifetimes
}

// Rotator rotates certificates, in every replica. It is a manager.Runnable.
type Rotator struct {
	Config
	serving *Serving
	every   time.Duration
	last    *Bundle
}

// NewRotator returns a Rotator that fills s.
func NewRotator(cfg Config, s *Serving) *Rotator {
	if cfg.Lifetimes == (Lifetimes{}) {
		cfg.Lifetimes = DefaultLifetimes
	}
	return &Rotator{Config: cfg, serving: s, every: min(checkInterval, cfg.Lifetimes.Serving/6)}
}

// NeedLeaderElection returns false: every replica serves.
func (*Rotator) NeedLeaderElection() bool { return false }

// Start rotates the certificates until ctx ends. It logs failures and retries.
func (r *Rotator) Start(ctx context.Context) error {
	retry := retryAfter
	for {
		wait := r.every
		if err := r.reconcileOnce(ctx); err == nil {
			retry = retryAfter
		} else if ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to reconcile webhook certificates")
			wait, retry = min(retry, r.every), 2*min(retry, r.every)
		}
		timer := r.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

func (r *Rotator) reconcileOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	err := r.Reconcile(ctx)
	r.serving.recordResult(err)
	return err
}

// Reconcile reconciles the Secret once, then the webhook configurations.
func (r *Rotator) Reconcile(ctx context.Context) error {
	b, err := r.bundle(ctx)
	if err != nil {
		return err
	}
	r.last = b
	r.serving.setCertificate(b.Certificate())
	return r.inject(ctx, b.CABundle())
}

// bundle reconciles the Secret and returns its content. It retries after a conflict with another replica.
func (r *Rotator) bundle(ctx context.Context) (b *Bundle, err error) {
	conflict := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	err = retry.OnError(retry.DefaultRetry, conflict, func() error {
		b, err = r.attempt(ctx)
		return err
	})
	return b, err
}

func (r *Rotator) attempt(ctx context.Context) (*Bundle, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.Secret.Namespace, Name: r.Secret.Name}}
	err := r.APIReader.Get(ctx, r.Secret, secret)
	absent := apierrors.IsNotFound(err)
	if err != nil && !absent {
		return nil, fmt.Errorf("get Secret %q of the webhook certificates: %w", r.Secret, err)
	}
	current, readErr := r.read(secret, absent)
	if errors.Is(readErr, errForeign) {
		return nil, readErr
	}
	next, reason, err := Renew(current, r.Hosts, r.Lifetimes, r.Clock.Now())
	if err != nil {
		return nil, err
	}
	if reason == "" && readErr == nil {
		return current, nil
	}
	if err := r.write(ctx, secret, next, absent); err != nil {
		return nil, err
	}
	ctrl.LoggerFrom(ctx).Info("Wrote webhook certificates", "secret", r.Secret.String(), "reason", strings.Join(reasons(readErr, reason), ": "))
	return next, nil
}

var (
	errForeign = errors.New("has data that this service did not write")
	errAbsent  = errors.New("the Secret was missing")
)

// read returns the bundle to continue with. If the Secret was deleted or damaged, that is
// the one that this replica serves: a webhook configuration trusts it already.
func (r *Rotator) read(secret *corev1.Secret, absent bool) (current *Bundle, readErr error) {
	if absent {
		return r.last, errAbsent
	}
	b, err := Parse(secret.Data)
	if len(secret.Data) > 0 && secret.Labels[Label] != r.Owner {
		return nil, fmt.Errorf("secret %q %w (label %s=%s is missing): set another --webhook-cert-secret, "+
			"mount it and set --webhook-cert-dir, or delete it", r.Secret, errForeign, Label, r.Owner)
	}
	if err != nil {
		return r.last, fmt.Errorf("the Secret was invalid: %w", err)
	}
	return b, nil
}

// write creates the Secret, or updates it unless another writer has.
func (r *Rotator) write(ctx context.Context, secret *corev1.Secret, b *Bundle, absent bool) error {
	data, err := b.Data()
	if err != nil {
		return err
	}
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	maps.Copy(secret.Data, data)
	if secret.Labels == nil {
		secret.Labels = map[string]string{}
	}
	secret.Labels[Label] = r.Owner
	if absent {
		secret.Type = corev1.SecretTypeTLS
		err = r.Client.Create(ctx, secret, client.FieldOwner(r.FieldManager))
	} else {
		err = r.Client.Update(ctx, secret, client.FieldOwner(r.FieldManager))
	}
	if err != nil {
		return fmt.Errorf("write Secret %q of the webhook certificates: %w", r.Secret, err)
	}
	return nil
}

// reasons returns the reasons of a write, for the log.
func reasons(readErr error, renewal string) (out []string) {
	if readErr != nil {
		out = append(out, readErr.Error())
	}
	if renewal != "" {
		out = append(out, renewal)
	}
	return out
}
