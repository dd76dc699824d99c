package compose

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// endpoints are the clients of the running project.
type endpoints struct {
	client client.Client
	ns     string
	js     jetstream.JetStream
	db     *sql.DB
}

func (c *composed) connect(t *testing.T) endpoints {
	t.Helper()
	w := endpoints{client: c.kube.Client(t, runtime.NewScheme()), ns: c.kube.Namespace(t)}
	nc, err := nats.Connect("nats://"+c.nats, nats.MaxReconnects(-1), nats.ReconnectWait(200*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if w.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	if w.db, err = sql.Open("mysql", "flotilla:flotilla@tcp("+c.mysql+")/flotilla"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.db.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// waitAvailable creates a Superset and a Model. It waits until the Superset is available, the Model is stored, and both are
// published on the bus.
func (w endpoints) waitAvailable(t *testing.T, name string) {
	t.Helper()
	superset := w.sample(t, "superset-operator/development.yaml", name)
	model := w.sample(t, "ingester/model_churn.yaml", name)
	expect.Condition(t, w.client, superset, "Available", metav1.ConditionTrue)
	expect.Eventually(t, expect.Long, func() error {
		var rows int
		err := w.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM model WHERE uid = ? AND delete_time IS NULL", string(model.GetUID())).Scan(&rows)
		if err == nil && rows != 1 {
			err = fmt.Errorf("%d rows of Model %s", rows, name)
		}
		return err
	})
	w.waitForEvent(t, contract.StreamLifecycle, "flotilla.lifecycle.v1.local."+w.ns+".superset."+name+".>")
	w.waitForEvent(t, contract.StreamChanges, "flotilla.change.v1.local."+w.ns+".model."+name+".created")
}

// waitForEvent waits until a stream has a message on a subject.
func (w endpoints) waitForEvent(t *testing.T, stream, subject string) {
	t.Helper()
	expect.Eventually(t, expect.Long, func() error {
		s, err := w.js.Stream(t.Context(), stream)
		if err != nil {
			return err
		}
		info, err := s.Info(t.Context(), jetstream.WithSubjectFilter(subject))
		if err == nil && len(info.State.Subjects) == 0 {
			err = fmt.Errorf("%s has no message on %s", stream, subject)
		}
		return err
	})
}

// sample creates an object of deploy/samples with another name in the namespace of the test.
func (w endpoints) sample(t *testing.T, file, name string) *unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root(), "deploy", "samples", file))
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(raw, &obj.Object); err != nil {
		t.Fatal(err)
	}
	obj.SetName(name)
	obj.SetNamespace(w.ns)
	if err := w.client.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}
