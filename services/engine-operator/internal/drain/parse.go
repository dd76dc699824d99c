package drain

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Gauges of an engine that count queries which must not be interrupted.
const (
	gaugeRunning   = "firebolt_running_queries"
	gaugeSuspended = "firebolt_suspended_queries"
)

// maxLine bounds a line of a metrics page.
const maxLine = 1 << 20

// Parse sums the query gauges of a metrics page. It reads only lines "name value [timestamp]"
// and truncates fractions; a gauge that is missing, has only labeled
// samples, occurs twice or is not a count is an error.
func Parse(r io.Reader) (int, error) {
	found := map[string]int{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		name, value, ok := sample(lines.Text())
		if !ok || (name != gaugeRunning && name != gaugeSuspended) {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || !(v >= 0 && v < 1e9) {
			return 0, fmt.Errorf("gauge %s: %q is not a count", name, value)
		}
		if _, twice := found[name]; twice {
			return 0, fmt.Errorf("gauge %s is duplicated", name)
		}
		found[name] = int(v)
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("read metrics: %w", err)
	}
	for _, name := range []string{gaugeRunning, gaugeSuspended} {
		if _, ok := found[name]; !ok {
			return 0, fmt.Errorf("gauge %s is missing", name)
		}
	}
	return found[gaugeRunning] + found[gaugeSuspended], nil
}

// sample splits a line without labels. A third field must be a timestamp.
func sample(line string) (name, value string, ok bool) {
	words := strings.Fields(line)
	if len(words) == 3 {
		if _, err := strconv.ParseFloat(words[2], 64); err != nil {
			return "", "", false
		}
		words = words[:2]
	}
	if len(words) != 2 {
		return "", "", false
	}
	return words[0], words[1], true
}
