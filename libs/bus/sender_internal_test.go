package bus

import (
	"context"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
)

// No message can be built before the stream exists.
func TestPublisherBacksOffMessageBuilds(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	conn, err := Connect(Config{URL: natstest.Start(t).URL(), Name: "tester", Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	p := NewPublisher(conn)
	builds := 0
	build := func() (Message, error) { builds++; return Message{}, ErrNotReady }
	p.Enqueue("subject", build)
	const interval, attempts = 10 * time.Millisecond, 1000
	for range attempts {
		if e, _ := p.next(clk.Now()); e != nil {
			p.send(t.Context(), e)
			p.Enqueue("subject", build) // a newer offer has the same cause
		}
		clk.Step(interval)
	}
	if most := 9; builds < 2 || builds > most {
		t.Errorf("built %d times in %s, want at most %d", builds, interval*attempts, most)
	}
}
