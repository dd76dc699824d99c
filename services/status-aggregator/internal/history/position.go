package history

import (
	"fmt"
	"strconv"
	"strings"
)

// position is the last event of an object in the stream.
type position struct {
	known    bool
	sequence uint64 // 0: none
	id       string
}

// uid returns the first part of the id.
func (p position) uid() string {
	uid, _, _ := strings.Cut(p.id, ".")
	return uid
}

// phase returns the number of a phase change, zero for all other events.
func (p position) phase() phase {
	_, tail, _ := strings.Cut(p.id, ".")
	number, suffix, _ := strings.Cut(tail, ".")
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return phase{}
	}
	restarts, err := strconv.ParseInt(suffix, 10, 64)
	if err != nil && suffix != "" {
		return phase{}
	}
	return phase{restarts, seq}
}

// isAfter reports whether the last event came after all pending events of the entry: it is
// a phase change that the entry does not have yet, or the deletion of the object.
func (p position) isAfter(r *Record) bool {
	known := phase{r.entryState.Ring, r.Entry.LastTransitionSeq}
	return p.uid() == r.Entry.Object.UID && (p.phase().after(known) || p.id == deletionID(r))
}

// isOfLaterEntry reports whether the last event is one of a later entry than that of the record, in the same bucket.
func (p position) isOfLaterEntry(r *Record) bool {
	revision, base := p.revision()
	return r.Known() && p.uid() == r.Entry.Object.UID && base == r.entryState.Base && revision > r.Revision
}

// revision returns the revision and the base in the id of an entry's event, zero for all other events.
func (p position) revision() (revision, base uint64) {
	parts := strings.Split(p.id, ".")
	if len(parts) < 3 || "."+parts[1] == deletedSuffix || p.phase() != (phase{}) {
		return 0, 0
	}
	revision, err := strconv.ParseUint(parts[2], 10, 64)
	if err == nil && len(parts) > 3 {
		base, err = strconv.ParseUint(parts[3], 10, 64)
	}
	if err != nil {
		return 0, 0
	}
	return revision, base
}

// phase is the number of a phase change, and how often the numbers had restarted before it.
type phase struct{ restarts, seq int64 }

func (p phase) after(q phase) bool {
	return p.restarts > q.restarts || p.restarts == q.restarts && p.seq > q.seq
}

// phaseID returns `<uid>.<seq>`, and `<uid>.<seq>.<ring>` once the numbers have restarted.
func phaseID(uid string, p phase) string {
	if p.restarts == 0 {
		return fmt.Sprintf("%s.%d", uid, p.seq)
	}
	return fmt.Sprintf("%s.%d.%d", uid, p.seq, p.restarts)
}
