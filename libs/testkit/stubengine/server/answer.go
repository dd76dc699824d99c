package server

// compact is the output format that Firebolt's clients request.
const compact = "JSON_Compact"

// answer returns the response to a query: the node and the query, or a row with the node in Firebolt's format.
func (q *queries) answer(query, format string) any {
	if format != compact {
		return struct {
			Identity
			Query string `json:"query"`
		}{q.Identity, query}
	}
	type column struct {
		Name string `json:"name"`
		Type string `json:"type"`
	}
	return map[string]any{
		"query":      map[string]any{"query_id": q.Identity.Pod},
		"meta":       []column{{"pod", "text"}, {"query", "text"}},
		"data":       [][]string{{q.Identity.Pod, query}},
		"rows":       1,
		"statistics": map[string]any{"elapsed": 0},
	}
}
