package transition

import (
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Keep is the number of entries in a status.
const Keep = 20

// MaxMessageBytes is the longest message of an entry.
const MaxMessageBytes = 1024

// Entry is one phase change. API types use it in an atomic list:
//
//	// +listType=atomic
//	Transitions []transition.Entry `json:"transitions,omitempty"`
type Entry struct {
	// seq is the number of the change, starting from 1 for each object.
	Seq int64 `json:"seq"`
	// time is when the phase changed.
	Time metav1.Time `json:"time"`
	// from is the previous phase; empty for the first entry.
	// +optional
	From string `json:"from,omitempty"`
	// to is the new phase.
	To string `json:"to"`
	// reason is a CamelCase word for programs.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message is a sentence for people, at most 1 KiB.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// DeepCopyInto copies e into out.
func (e *Entry) DeepCopyInto(out *Entry) {
	*out = *e
	e.Time.DeepCopyInto(&out.Time)
}

// DeepCopy returns a copy of e.
func (e *Entry) DeepCopy() *Entry {
	if e == nil {
		return nil
	}
	out := new(Entry)
	e.DeepCopyInto(out)
	return out
}

// Append returns the ring with the change to phase `to`, and never more than [Keep]
// entries. It returns the ring unchanged if `to` is already the latest phase. It never
// writes to the given slice, which can come from a cache.
func Append(entries []Entry, to, reason, message string, now time.Time) []Entry {
	next := Entry{Seq: 1, Time: metav1.NewTime(now.Truncate(time.Second)), To: to, Reason: reason, Message: clamp(message)}
	if len(entries) > 0 {
		last := entries[len(entries)-1]
		if last.To == to {
			return entries
		}
		next.Seq, next.From = last.Seq+1, last.To
	}
	kept := entries[max(0, len(entries)+1-Keep):]
	out := make([]Entry, 0, len(kept)+1)
	return append(append(out, kept...), next)
}

// clamp shortens a message to whole characters within the limit and makes it valid UTF-8.
func clamp(message string) string {
	message = strings.ToValidUTF8(message, "\uFFFD")
	if len(message) <= MaxMessageBytes {
		return message
	}
	const ellipsis = "..."
	end := MaxMessageBytes - len(ellipsis)
	for end > 0 && !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end] + ellipsis
}
