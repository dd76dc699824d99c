package bootstrap

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/asyncapi"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// reviewed validates each message on the bus against the published document.
type reviewed struct {
	mu         sync.Mutex
	families   map[string]int
	violations []string
}

func (f fixture) review() *reviewed {
	f.Helper()
	doc, err := asyncapi.Load(os.DirFS("../../../../docs/events"))
	if err != nil {
		f.Fatal(err)
	}
	r := &reviewed{families: map[string]int{}}
	inspect := func(m *nats.Msg) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if strings.HasPrefix(m.Subject, "$KV.") && len(m.Data) == 0 {
			return // the marker of a deleted key
		}
		if m.Header.Get("Test-Poison") != "" && !strings.HasPrefix(m.Subject, contract.DeadLetterPrefix) {
			return
		}
		r.families[strings.Join(strings.Split(m.Subject, ".")[:2], ".")]++
		if err := doc.Check(m.Subject, m.Header, m.Data); err != nil {
			r.violations = append(r.violations, fmt.Sprintf("%v\n%s", err, m.Data))
		}
	}
	for _, subject := range []string{"flotilla.>", "$KV." + contract.BucketStatus + ".>"} {
		if _, err := f.admin.Conn().Subscribe(subject, inspect); err != nil {
			f.Fatal(err)
		}
	}
	if err := f.admin.Conn().Flush(); err != nil {
		f.Fatal(err)
	}
	return r
}

func (r *reviewed) seen(t *testing.T, families ...string) {
	t.Helper()
	expect.Eventually(t, expect.Long, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, family := range families {
			if r.families[family] == 0 {
				return fmt.Errorf("no message on %s yet: %v", family, r.families)
			}
		}
		return nil
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.violations {
		t.Error(p)
	}
}
