package load

import "time"

// Figures are the counts of one phase. All times are of the load generator's clock.
type Figures struct {
	Phase     string    `json:"phase"`
	StartedAt time.Time `json:"began"`
	Seconds   float64   `json:"seconds"`

	// Answers counts the completed requests, with or without an answer; Failed counts those without a good answer.
	Answers int `json:"answers"`
	Failed  int `json:"failed"`
	// Retried counts requests that were sent a second time because their connection was drained. Each counts once in
	// Answers, with the outcome of the second try.
	Retried int `json:"retried"`
	// Executed counts the requests whose execution servers reported, Twice those with a second execution, and Unreported
	// the good answers without a report: then the other two prove nothing.
	Executed   int `json:"executed"`
	Twice      int `json:"twice"`
	Unreported int `json:"unreported"`
	// Classes counts requests by class, such as "200 new", "503 maintenance", "refused" or "timeout".
	Classes map[string]int `json:"classes"`

	// LongestGap is the longest time without a good answer, in seconds, and GapStart its start. A gap that began in an
	// earlier phase counts in full.
	LongestGap float64   `json:"longestGap"`
	GapStart   time.Time `json:"gapBegan"`

	// Latency counts the answers of servers by duration.
	Latency []Bucket `json:"latency"`
	// Failures describes the first failed requests.
	Failures []string `json:"failures,omitempty"`
}

// Bucket counts the answers that took at most UpTo seconds and more than the previous bound.
type Bucket struct {
	UpTo  float64 `json:"upTo"` // -1 in the last bucket, which has no bound
	Count int     `json:"count"`
}

// LastBound is the upper bound of the last latency bucket that has one, in seconds.
const LastBound = 20

// bounds are the upper bounds of the latency buckets, in seconds.
var bounds = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, LastBound}

func newBuckets() []Bucket {
	out := make([]Bucket, 0, len(bounds)+1)
	for _, b := range bounds {
		out = append(out, Bucket{UpTo: b})
	}
	return append(out, Bucket{UpTo: -1})
}

// Quantile returns the upper bound of the bucket that contains the quantile q, -1 if that bucket has no bound, or 0 without
// answers.
func (f Figures) Quantile(q float64) float64 {
	total := 0
	for _, b := range f.Latency {
		total += b.Count
	}
	if total == 0 {
		return 0
	}
	seen := 0
	for _, b := range f.Latency {
		if seen += b.Count; float64(seen) >= q*float64(total) {
			return b.UpTo
		}
	}
	return -1
}

// Late returns the number of answers that took longer than [LastBound].
func (f Figures) Late() int {
	late := 0
	for _, b := range f.Latency {
		if b.UpTo < 0 {
			late += b.Count
		}
	}
	return late
}

// Sum adds the figures of several phases. Its longest gap is the longest one of them.
func Sum(name string, phases ...Figures) Figures {
	out := Figures{Phase: name, Classes: map[string]int{}, Latency: newBuckets()}
	for i, f := range phases {
		if i == 0 {
			out.StartedAt = f.StartedAt
		}
		out.Seconds += f.Seconds
		out.Answers += f.Answers
		out.Failed += f.Failed
		out.Retried += f.Retried
		out.Executed += f.Executed
		out.Twice += f.Twice
		out.Unreported += f.Unreported
		for class, n := range f.Classes {
			out.Classes[class] += n
		}
		if f.LongestGap > out.LongestGap {
			out.LongestGap, out.GapStart = f.LongestGap, f.GapStart
		}
		for j, b := range f.Latency {
			if j < len(out.Latency) {
				out.Latency[j].Count += b.Count
			}
		}
		out.Failures = append(out.Failures, f.Failures...)
	}
	return out
}
