package load

import "time"

// Figures are what happened in one phase. All times are those of the load generator's clock.
type Figures struct {
	Phase   string    `json:"phase"`
	Began   time.Time `json:"began"`
	Seconds float64   `json:"seconds"`

	// Answers counts the requests that ended, one way or another; Failed those of them that are not good.
	Answers int `json:"answers"`
	Failed  int `json:"failed"`
	// Retried counts requests that were sent a second time since their connection had been drained. They
	// are counted once in Answers, by how the second try ended.
	Retried int `json:"retried"`
	// Executed counts the requests that servers reported to execute, Twice those that more than one execution was
	// reported of, and Unreported good answers without a report: then the other two prove nothing.
	Executed   int `json:"executed"`
	Twice      int `json:"twice"`
	Unreported int `json:"unreported"`
	// Classes counts answers by what they were, such as "200 new", "503 maintenance", "refused" or "timeout".
	Classes map[string]int `json:"classes"`

	// LongestGap is the longest time without a good answer, in seconds, and GapBegan when it began. A gap
	// that began in an earlier phase counts whole.
	LongestGap float64   `json:"longestGap"`
	GapBegan   time.Time `json:"gapBegan"`

	// Latency counts answers of servers by how long they took.
	Latency []Bucket `json:"latency"`
	// Failures are the first failed requests, in words.
	Failures []string `json:"failures,omitempty"`
}

// Bucket counts the answers that took up to UpTo seconds and longer than the bucket before.
type Bucket struct {
	UpTo  float64 `json:"upTo"` // the last bucket has -1 and no bound
	Count int     `json:"count"`
}

// bounds of the latency buckets, in seconds.
var bounds = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

func newBuckets() []Bucket {
	out := make([]Bucket, 0, len(bounds)+1)
	for _, b := range bounds {
		out = append(out, Bucket{UpTo: b})
	}
	return append(out, Bucket{UpTo: -1})
}

// Quantile returns the upper bound of the bucket in which the share q of all answers is reached, or -1 beyond the
// last bound. It is 0 without answers.
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

// Sum adds up the figures of phases; the longest gap is the longest of all.
func Sum(name string, phases ...Figures) Figures {
	out := Figures{Phase: name, Classes: map[string]int{}, Latency: newBuckets()}
	for i, f := range phases {
		if i == 0 {
			out.Began = f.Began
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
			out.LongestGap, out.GapBegan = f.LongestGap, f.GapBegan
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
