package load

import (
	"encoding/json"
	"net/http"
	"time"
)

// Control returns the HTTP API that the runner uses to control a load generator:
//
//	GET  /healthz           status 200
//	GET  /counts            the figures of each phase as JSON
//	POST /phase?name=NAME   begin a phase and return the same as /counts
//	POST /reset?name=NAME   delete all figures, begin a phase and return the same as /counts
//
// Servers call one more path, and clients that are other programs call another:
//
//	POST /executed?id=ID&run=RUN   a server executes the request ID; RUN is unique among all executions
//	POST /answered                 a client got an answer, which is a JSON object: see [answer]
func Control(recorder *Recorder) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) { writeFigures(w, recorder) })
	mux.HandleFunc("POST /phase", named(recorder, recorder.Phase))
	mux.HandleFunc("POST /reset", named(recorder, recorder.Reset))
	mux.HandleFunc("POST /executed", func(w http.ResponseWriter, r *http.Request) {
		id, run := r.URL.Query().Get("id"), r.URL.Query().Get("run")
		if id == "" || run == "" {
			http.Error(w, "the parameters id and run are required", http.StatusBadRequest)
			return
		}
		recorder.Executed(id, run)
	})
	mux.HandleFunc("POST /answered", func(w http.ResponseWriter, r *http.Request) {
		var a answer
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil || a.ID == "" || a.Class == "" {
			http.Error(w, "the fields id and class are required", http.StatusBadRequest)
			return
		}
		recorder.Add(Outcome{
			Class: a.Class, Good: a.Good, Answered: true, Duration: time.Duration(a.Seconds * float64(time.Second)), Detail: a.Detail, ID: a.ID,
		})
	})
	return mux
}

// answer is the outcome of a request of another program. Its server must report the execution of the request.
type answer struct {
	ID      string  `json:"id"`
	Class   string  `json:"class"`
	Good    bool    `json:"good"`
	Seconds float64 `json:"seconds"` // since the request began
	Detail  string  `json:"detail"`  // description of a failure
}

func named(recorder *Recorder, do func(string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Query().Get("name")
		if name == "" {
			http.Error(w, "the parameter name is missing", http.StatusBadRequest)
			return
		}
		do(name)
		writeFigures(w, recorder)
	}
}

func writeFigures(w http.ResponseWriter, recorder *Recorder) {
	w.Header().Set("Content-Type", "application/json")
	// An error means that the runner disconnected; it retries.
	_ = json.NewEncoder(w).Encode(recorder.Figures()) //nolint:errcheck // see above
}
