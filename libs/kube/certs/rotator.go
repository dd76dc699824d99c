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
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Label marks a service's own Secret with [Dependencies].Owner: no other one is ever changed.
const Label = "app.kubernetes.io/managed-by"

const (
	lookEvery   = time.Minute     // more often when certificates are valid for less than six minutes
	retryAfter  = 5 * time.Second // after a failure, and twice as long after each further one
	lostRaces   = 5               // conflicts with other replicas before a reconcile returns an error
	roundBudget = 30 * time.Second
)

// Dependencies are what a [Rotator] works with.
type Dependencies struct {
	// Live is the API reader: no Secret is cached, so the service needs no permission to
	// list Secrets.
	Live   client.Reader
	Client client.Writer
	Clock  clock.WithTicker
	// Secret is where the certificates are kept.
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
	Dependencies
	serving *Serving
	every   time.Duration
	last    *Bundle
}

// NewRotator returns a Rotator that fills s.
func NewRotator(d Dependencies, s *Serving) *Rotator {
	if d.Lifetimes == (Lifetimes{}) {
		d.Lifetimes = DefaultLifetimes
	}
	return &Rotator{Dependencies: d, serving: s, every: min(lookEvery, d.Lifetimes.Serving/6)}
}

// NeedLeaderElection returns false: every replica serves.
func (*Rotator) NeedLeaderElection() bool { return false }

// Start rotates the certificates until ctx ends. It logs failures and retries.
func (k *Rotator) Start(ctx context.Context) error {
	retry := retryAfter
	for {
		wait := k.every
		if err := k.reconcileOnce(ctx); err == nil {
			retry = retryAfter
		} else if ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Webhook certificates are not in order")
			wait, retry = min(retry, k.every), 2*min(retry, k.every)
		}
		timer := k.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

func (k *Rotator) reconcileOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, roundBudget)
	defer cancel()
	err := k.Reconcile(ctx)
	k.serving.note(err)
	return err
}

// Reconcile reconciles the Secret once, then the webhook configurations.
func (k *Rotator) Reconcile(ctx context.Context) error {
	b, err := k.bundle(ctx)
	if err != nil {
		return err
	}
	k.last = b
	k.serving.show(b.Certificate())
	return k.inject(ctx, b.CABundle())
}

// bundle reconciles the Secret and returns its content.
func (k *Rotator) bundle(ctx context.Context) (*Bundle, error) {
	var err error
	for range lostRaces {
		var b *Bundle
		if b, err = k.attempt(ctx); !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return b, err
		}
	}
	return nil, err
}

func (k *Rotator) attempt(ctx context.Context) (*Bundle, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.Secret.Namespace, Name: k.Secret.Name}}
	err := k.Live.Get(ctx, k.Secret, secret)
	absent := apierrors.IsNotFound(err)
	if err != nil && !absent {
		return nil, fmt.Errorf("read secret %q of the webhook certificates: %w", k.Secret, err)
	}
	held, trouble := k.read(secret, absent)
	if errors.Is(trouble, errForeign) {
		return nil, trouble
	}
	next, reason, err := Renew(held, k.Hosts, k.Lifetimes, k.Clock.Now())
	if err != nil {
		return nil, err
	}
	if reason == "" && trouble == nil {
		return held, nil
	}
	if err := k.write(ctx, secret, next, absent); err != nil {
		return nil, err
	}
	ctrl.LoggerFrom(ctx).Info("Wrote webhook certificates", "secret", k.Secret.String(), "reason", strings.Join(reasons(trouble, reason), ": "))
	return next, nil
}

var (
	errForeign = errors.New("has data that this service did not write")
	errAbsent  = errors.New("the Secret was not there")
)

// read returns the bundle to continue with. If the Secret was deleted or damaged, that is
// the one that this replica serves: a webhook configuration trusts it already.
func (k *Rotator) read(secret *corev1.Secret, absent bool) (held *Bundle, trouble error) {
	if absent {
		return k.last, errAbsent
	}
	b, err := Parse(secret.Data)
	if len(secret.Data) > 0 && secret.Labels[Label] != k.Owner {
		return nil, fmt.Errorf("secret %q %w (label %s=%s is missing): give another --webhook-cert-secret, "+
			"mount it and give --webhook-cert-dir, or delete it", k.Secret, errForeign, Label, k.Owner)
	}
	if err != nil {
		return k.last, fmt.Errorf("the Secret was unusable: %w", err)
	}
	return b, nil
}

// write creates the Secret, or updates it unless another writer has.
func (k *Rotator) write(ctx context.Context, secret *corev1.Secret, b *Bundle, absent bool) error {
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
	secret.Labels[Label] = k.Owner
	if absent {
		secret.Type = corev1.SecretTypeTLS
		err = k.Client.Create(ctx, secret, client.FieldOwner(k.FieldManager))
	} else {
		err = k.Client.Update(ctx, secret, client.FieldOwner(k.FieldManager))
	}
	if err != nil {
		return fmt.Errorf("write secret %q of the webhook certificates: %w", k.Secret, err)
	}
	return nil
}

// reasons are those of a write, for the log.
func reasons(trouble error, renewal string) (out []string) {
	if trouble != nil {
		out = append(out, trouble.Error())
	}
	if renewal != "" {
		out = append(out, renewal)
	}
	return out
}
