package printer

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
)

// timeFormat is the format of event times: exact, since users compare them with other logs.
const timeFormat = "2006-01-02T15:04:05Z"

// History writes the events of one resource, oldest first.
func History(w io.Writer, events []statusapi.HistoryEvent) error {
	rows := make([][]string, len(events))
	for i, e := range events {
		rows[i] = []string{e.Time.UTC().Format(timeFormat), number(e.Sequence), string(e.Event), Describe(e.Lifecycle)}
	}
	return table(w, "", []string{"TIME", "SEQUENCE", "EVENT", "DETAILS"}, rows)
}

// Event writes one event of any resource as one line.
func Event(w io.Writer, at time.Time, sequence uint64, kind string, e contract.Lifecycle) error {
	_, err := fmt.Fprintf(w, "%s  %d  %s/%s/%s  %s  %s\n", at.UTC().Format(timeFormat), sequence,
		cell(e.Object.Namespace), cell(kind), cell(e.Object.Name), cell(string(e.Event)), cell(Describe(e)))
	if err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// Transitions writes the phase changes that the status of a resource records.
func Transitions(w io.Writer, all []contract.PhaseChange) error {
	rows := make([][]string, len(all))
	for i, p := range all {
		rows[i] = []string{p.Time.UTC().Format(timeFormat), none, string(contract.EventPhase), phase(&p)}
	}
	return table(w, "", []string{"TIME", "SEQUENCE", "EVENT", "DETAILS"}, rows)
}

// Describe returns a description of the event in one sentence.
func Describe(e contract.Lifecycle) string {
	var terms []string
	if e.Gap {
		terms = append(terms, "[events before this one are missing]")
	}
	if c := e.Condition; c != nil {
		terms = append(terms, condition(c))
	}
	if e.Phase != nil && e.Phase.To != "" { // a gap may have no phase
		terms = append(terms, phase(e.Phase))
	}
	if e.Event == contract.EventSnapshot {
		terms = append(terms, snapshot(e.Conditions))
	}
	return strings.Join(append(terms, e.Message), " ")
}

func condition(c *contract.ConditionChange) string {
	before := "absent"
	if c.Before != nil {
		before = c.Before.Status
	}
	return fmt.Sprintf("%s %s -> %s (%s) %s", c.Type, before, c.After.Status, c.After.Reason, c.After.Message)
}

func phase(p *contract.PhaseChange) string {
	from := p.From
	if from == "" {
		from = "none"
	}
	text := "phase " + from + " -> " + p.To
	if p.Reason != "" {
		text += " (" + p.Reason + ")"
	}
	return text + " " + p.Message
}

func snapshot(all []contract.Condition) string {
	terms := make([]string, len(all))
	for i, c := range all {
		terms[i] = c.Type + "=" + c.Status
	}
	return strings.Join(terms, " ")
}

func number(n uint64) string {
	if n == 0 {
		return none
	}
	return fmt.Sprint(n)
}
