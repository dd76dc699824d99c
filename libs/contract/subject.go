package contract

import (
	"errors"
	"fmt"
	"strings"
)

// Subject prefixes, one for each family of messages.
const (
	ObservationPrefix = "flotilla.obs.v1"
	HeartbeatPrefix   = "flotilla.hb.v1"
	LifecyclePrefix   = "flotilla.lifecycle.v1"
	ChangePrefix      = "flotilla.change.v1"
	DeadLetterPrefix  = "flotilla.dlq.v1"
)

// ErrInvalidSubject means that a subject, or a name for one, does not have the contract's form.
var ErrInvalidSubject = errors.New("invalid subject")

// Ref identifies an object in subjects and keys: cluster, namespace, kind token, name.
type Ref struct {
	Cluster   string
	Namespace string
	Kind      Kind
	Name      string
}

// String returns the key of the object in the status bucket, for example
// "prod.team-a.superset.main", or "invalid" for a Ref that cannot be encoded.
func (r Ref) String() string {
	key, err := r.Key()
	if err != nil {
		return "invalid"
	}
	return key
}

// Key returns the object's key in the status bucket and the middle of its subjects:
// <cluster>.<namespace>.<kind>.<name>, each one token.
func (r Ref) Key() (string, error) {
	if _, ok := registry[r.Kind]; !ok {
		return "", fmt.Errorf("%w: kind token %q is not in the registry", ErrInvalidSubject, r.Kind)
	}
	tokens := make([]string, 0, 4)
	for _, name := range []string{r.Cluster, r.Namespace, string(r.Kind), r.Name} {
		token, err := EncodeToken(name)
		if err != nil {
			return "", err
		}
		tokens = append(tokens, token)
	}
	return strings.Join(tokens, "."), nil
}

// ParseKey parses a key. It is the inverse of [Ref.Key].
func ParseKey(key string) (Ref, error) {
	tokens := strings.Split(key, ".")
	if len(tokens) != 4 {
		return Ref{}, fmt.Errorf("%w: key %q has %d tokens, want 4", ErrInvalidSubject, key, len(tokens))
	}
	return refOf(tokens)
}

// ObservationSubject returns the subject of one observer's observations of one object.
func ObservationSubject(r Ref, observer string) (string, error) {
	return objectSubject(ObservationPrefix, r, observer)
}

// LifecycleSubject returns the subject of one kind of lifecycle event of one object.
func LifecycleSubject(r Ref, event LifecycleEvent) (string, error) {
	if !event.Valid() {
		return "", fmt.Errorf("%w: lifecycle event %q is not in the closed list", ErrInvalidSubject, event)
	}
	return objectSubject(LifecyclePrefix, r, string(event))
}

// LifecycleFilter returns a subject filter that matches all lifecycle events of one object.
func LifecycleFilter(r Ref) (string, error) {
	key, err := r.Key()
	if err != nil {
		return "", err
	}
	return LifecyclePrefix + "." + key + ".*", nil
}

// ChangeSubject returns the subject of one operation of the ingester on one stored object.
func ChangeSubject(r Ref, op ChangeOperation) (string, error) {
	if !op.Valid() {
		return "", fmt.Errorf("%w: change operation %q is not in the closed list", ErrInvalidSubject, op)
	}
	return objectSubject(ChangePrefix, r, string(op))
}

// HeartbeatSubject returns the subject of an observer's heartbeats.
func HeartbeatSubject(cluster, observer string) (string, error) {
	c, err := EncodeToken(cluster)
	if err != nil {
		return "", err
	}
	o, err := EncodeToken(observer)
	if err != nil {
		return "", err
	}
	return HeartbeatPrefix + "." + c + "." + o, nil
}

// DeadLetterSubject returns the subject of messages that cannot be processed. It
// has the stream's name in lower case with hyphens, for example "flotilla-obs".
func DeadLetterSubject(stream, cause string) (string, error) {
	s, err := EncodeToken(strings.ReplaceAll(strings.ToLower(stream), "_", "-"))
	if err != nil {
		return "", err
	}
	c, err := EncodeToken(cause)
	if err != nil {
		return "", err
	}
	return DeadLetterPrefix + "." + s + "." + c, nil
}

// ParseObjectSubject splits an observation, lifecycle or change subject into
// its prefix, the object, and the last token (observer, event or operation).
func ParseObjectSubject(subject string) (prefix string, r Ref, last string, err error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 8 {
		return "", Ref{}, "", fmt.Errorf("%w: %q has %d tokens, want 8", ErrInvalidSubject, subject, len(tokens))
	}
	prefix = strings.Join(tokens[:3], ".")
	switch prefix {
	case ObservationPrefix, LifecyclePrefix, ChangePrefix:
	default:
		return "", Ref{}, "", fmt.Errorf("%w: unknown prefix %q", ErrInvalidSubject, prefix)
	}
	r, err = refOf(tokens[3:7])
	if err != nil {
		return "", Ref{}, "", err
	}
	last, err = DecodeToken(tokens[7])
	return prefix, r, last, err
}

// ParseHeartbeatSubject parses a heartbeat subject. It is the inverse of [HeartbeatSubject].
func ParseHeartbeatSubject(subject string) (cluster, observer string, err error) {
	rest, ok := strings.CutPrefix(subject, HeartbeatPrefix+".")
	tokens := strings.Split(rest, ".")
	if !ok || len(tokens) != 2 {
		return "", "", fmt.Errorf("%w: %q is not a heartbeat subject", ErrInvalidSubject, subject)
	}
	if cluster, err = DecodeToken(tokens[0]); err != nil {
		return "", "", err
	}
	observer, err = DecodeToken(tokens[1])
	return cluster, observer, err
}

// EncodeToken makes one subject token of a Kubernetes name. A dot becomes an
// underscore, which no Kubernetes name contains, so the mapping is reversible.
// It rejects a name that is not a DNS subdomain of at most 253 bytes: a name can
// never add a token, a wildcard or a line break to a subject.
func EncodeToken(name string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	return strings.ReplaceAll(name, ".", "_"), nil
}

// DecodeToken returns the Kubernetes name of a token. It is the inverse of [EncodeToken].
func DecodeToken(token string) (string, error) {
	if strings.Contains(token, ".") {
		return "", fmt.Errorf("%w: token %q contains a dot", ErrInvalidSubject, token)
	}
	name := strings.ReplaceAll(token, "_", ".")
	if err := checkName(name); err != nil {
		return "", err
	}
	return name, nil
}

const maxNameLength = 253 // longest DNS subdomain that Kubernetes accepts

// checkName accepts DNS subdomains (RFC 1123), as Kubernetes does for names.
func checkName(name string) error {
	if name == "" || len(name) > maxNameLength {
		return fmt.Errorf("%w: name %q must have 1 to %d bytes", ErrInvalidSubject, name, maxNameLength)
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return fmt.Errorf("%w: name %q is not a DNS subdomain", ErrInvalidSubject, name)
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
				return fmt.Errorf("%w: name %q is not a DNS subdomain", ErrInvalidSubject, name)
			}
		}
	}
	return nil
}

func objectSubject(prefix string, r Ref, last string) (string, error) {
	key, err := r.Key()
	if err != nil {
		return "", err
	}
	token, err := EncodeToken(last)
	if err != nil {
		return "", err
	}
	return prefix + "." + key + "." + token, nil
}

func refOf(tokens []string) (Ref, error) {
	names := make([]string, 4)
	for i, token := range tokens {
		name, err := DecodeToken(token)
		if err != nil {
			return Ref{}, err
		}
		names[i] = name
	}
	r := Ref{Cluster: names[0], Namespace: names[1], Kind: Kind(names[2]), Name: names[3]}
	if _, ok := registry[r.Kind]; !ok {
		return Ref{}, fmt.Errorf("%w: kind token %q is not in the registry", ErrInvalidSubject, r.Kind)
	}
	return r, nil
}
