package query

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// tokenVersion increases when tokens of an earlier format are no longer readable.
const tokenVersion = 1

// maxToken is the maximum size of a token in bytes.
const maxToken = 16 << 10

// token is a position in the result of one request. It holds no secret: a forged token
// returns only rows that the request itself would return.
type token struct {
	Version int    `json:"v"`
	Request string `json:"q"` // fingerprint of the request
	// After are the sort values of the last row of the page, as text; null is NULL.
	After []*string `json:"a"`
	// Remaining is the number of rows that follow; null if they were not counted.
	Remaining *int64 `json:"r,omitempty"`
}

func (t token) encode() (string, error) {
	raw, err := json.Marshal(t)
	if err != nil {
		return "", fmt.Errorf("encode continue token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

func decodeToken(text string) (*token, error) {
	if len(text) > maxToken {
		return nil, invalid("continue token is longer than %d bytes", maxToken)
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, invalid("continue token %q is not valid", clip(text))
	}
	t := &token{}
	if err := json.Unmarshal(raw, t); err != nil {
		return nil, invalid("continue token %q is not valid", clip(text))
	}
	if t.Version != tokenVersion {
		return nil, invalid("continue token has version %d, want %d: list again without it", t.Version, tokenVersion)
	}
	return t, nil
}

// resume sets the position at which the plan starts.
func (p *Plan) resume(text string) error {
	t, err := decodeToken(text)
	if err != nil {
		return err
	}
	if t.Request != p.fingerprint() || len(t.After) != len(p.keys) {
		return invalid("continue token belongs to another request (kind, namespace, selectors, criteria or order differ)")
	}
	for i := range p.keys {
		v, err := p.keys[i].decode(t.After[i])
		if err != nil {
			return invalid("continue token does not match the order")
		}
		p.after = append(p.after, v)
	}
	p.remaining = t.Remaining
	return nil
}

// fingerprint identifies the request of a token: everything that selects and orders rows, but not
// the limit or the skip list.
func (p *Plan) fingerprint() string {
	h := sha256.New()
	part := func(args ...any) { fmt.Fprintf(h, "%q\n", fmt.Sprint(args...)) }
	part(p.kind.Name, "/", p.namespace)
	for _, l := range p.labels {
		part("label", l.key, l.values, l.absent, l.bound != nil)
		if l.bound != nil {
			part(l.bound.operator, l.bound.value)
		}
	}
	for _, c := range p.where {
		part("where", c.sql)
		for _, a := range c.args {
			part(encodeValue(a))
		}
	}
	for _, k := range p.keys {
		part("order", k.Column, k.desc)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}

// encodeValue writes a value of a column as text.
func encodeValue(v any) string {
	switch x := v.(type) {
	case []byte:
		return string(x)
	case time.Time:
		return x.UTC().Format(time.RFC3339Nano)
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

func encodeSorted(values []any) []*string {
	out := make([]*string, 0, len(values))
	for _, v := range values {
		if v == nil {
			out = append(out, nil)
			continue
		}
		s := encodeValue(v)
		out = append(out, &s)
	}
	return out
}

// decode parses text of the field's type. It is the inverse of encodeValue.
func (f *Field) decode(s *string) (any, error) {
	if s == nil {
		if !f.Nullable {
			return nil, invalid("field %q is not nullable", f.Column)
		}
		return nil, nil // NULL
	}
	if f.Type == registry.Bool || f.Type == registry.Int {
		return intOnly(*s)
	}
	if f.Type == registry.Enum {
		return *s, nil // also a name that a later release has dropped
	}
	return f.Value(*s)
}

func intOnly(s string) (any, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return nil, invalid("%q is not a number", clip(s))
	}
	return n, nil
}
