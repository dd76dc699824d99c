package outbox_test

import (
	"os"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/asyncapi"
)

// The stream holds the messages that docs/events describes.
func TestMessagesMatchDocument(t *testing.T) {
	document, err := asyncapi.Load(os.DirFS("../../../../docs/events"))
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t)
	operations := []contract.ChangeOperation{
		contract.ChangeCreated, contract.ChangeUpdated, contract.ChangeDeleted, contract.ChangeEvicted, contract.ChangeRestored,
	}
	for _, operation := range operations {
		f.add("churn-"+string(operation), 1, operation)
	}
	f.relay()
	f.empty()
	messages := f.messages()
	if len(messages) != len(operations) {
		t.Fatalf("%d messages, want %d", len(messages), len(operations))
	}
	for _, m := range messages {
		if err := document.Check(m.Subject, m.Header, m.Data); err != nil {
			t.Errorf("%s: %v", m.Subject, err)
		}
	}
}
