package otlp

import (
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Span is a received span.
type Span struct {
	Service, Scope, Name string
	Trace, ID            string // in hexadecimal digits
	Parent               string // empty for a root
	Kind                 string // "internal", "server", "client", "producer" or "consumer"
	Start, End           time.Time
	Failed               bool
	Attributes           map[string]string // numbers and truth values as text
	Links                []Link
}

// Link names another span.
type Link struct{ Trace, ID string }

// String describes the span in messages.
func (s Span) String() string {
	return fmt.Sprintf("%s: %s (trace %s, span %s, parent %s)", s.Service, s.Name, s.Trace, s.ID, s.Parent)
}

func span(resource *tracepb.ResourceSpans, scope *tracepb.ScopeSpans, s *tracepb.Span) Span {
	out := Span{
		Service: attributes(resource.GetResource().GetAttributes())["service.name"],
		Scope:   scope.GetScope().GetName(),
		Name:    s.GetName(),
		Trace:   hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
		Kind:  strings.ToLower(strings.TrimPrefix(s.GetKind().String(), "SPAN_KIND_")),
		Start: at(s.GetStartTimeUnixNano()), End: at(s.GetEndTimeUnixNano()),
		Failed:     s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR,
		Attributes: attributes(s.GetAttributes()),
	}
	for _, l := range s.GetLinks() {
		out.Links = append(out.Links, Link{hex.EncodeToString(l.GetTraceId()), hex.EncodeToString(l.GetSpanId())})
	}
	return out
}

func at(nanoseconds uint64) time.Time { return time.Unix(0, int64(min(nanoseconds, math.MaxInt64))) }

func attributes(list []*commonpb.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		switch v := a.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			out[a.GetKey()] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			out[a.GetKey()] = strconv.FormatInt(v.IntValue, 10)
		case *commonpb.AnyValue_BoolValue:
			out[a.GetKey()] = strconv.FormatBool(v.BoolValue)
		case *commonpb.AnyValue_DoubleValue:
			out[a.GetKey()] = strconv.FormatFloat(v.DoubleValue, 'g', -1, 64)
		default:
			out[a.GetKey()] = a.GetValue().String()
		}
	}
	return out
}

// Chain returns a span and its ancestors, the root first. The error names a parent that has not been received (yet).
func Chain(spans []Span, leaf Span) ([]Span, error) {
	chain := []Span{leaf}
	for last := leaf; last.Parent != ""; last = chain[len(chain)-1] {
		i := slices.IndexFunc(spans, func(s Span) bool { return s.Trace == last.Trace && s.ID == last.Parent })
		if i < 0 {
			return nil, fmt.Errorf("parent of %s not received", last)
		}
		chain = append(chain, spans[i])
		if len(chain) > len(spans) {
			return nil, fmt.Errorf("%s is its own ancestor", leaf)
		}
	}
	slices.Reverse(chain)
	return chain, nil
}
