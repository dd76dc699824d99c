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
		if _, duplicate := found[name]; duplicate {
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
	fields := strings.Fields(line)
	if len(fields) == 3 {
		if _, err := strconv.ParseFloat(fields[2], 64); err != nil {
			return "", "", false
		}
		fields = fields[:2]
	}
	if len(fields) != 2 {
		return "", "", false
	}
	return fields[0], fields[1], true
}
