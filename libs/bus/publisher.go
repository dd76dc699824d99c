package bus

import "context"

// Message is what goes on the bus.
type Message struct {
	Subject string
	ID      string // Nats-Msg-Id; equals the id of the event in Body
	Body    []byte
	Header  map[string][]string
}

// Publisher sends the newest message of each subject in the background.
type Publisher struct{ conn *Conn }

// PublisherOption changes a [Publisher].
type PublisherOption func(*Publisher)

// NewPublisher returns a publisher that sends nothing before [Publisher.Run].
func NewPublisher(conn *Conn, opts ...PublisherOption) *Publisher { return &Publisher{conn: conn} }

// Offer makes build the next message of subject, in place of any that was not sent
// yet. It never blocks and never touches the network; build runs in the sender.
func (p *Publisher) Offer(subject string, build func() (Message, error)) {}

// OnReset adds a function that runs when the stream was re-created or went back:
// everything must be offered again.
func (p *Publisher) OnReset(f func()) {}

// Run sends until ctx ends.
func (p *Publisher) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// Start is [Publisher.Run] under the name that controller-runtime's manager expects.
func (p *Publisher) Start(ctx context.Context) error { return p.Run(ctx) }
