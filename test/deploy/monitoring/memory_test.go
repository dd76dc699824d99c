package monitoring

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// memory stores series for the PromQL engine; a database would be slow to compile and to open.
type memory struct{ series []*samples }

type samples struct {
	name   labels.Labels
	points []chunks.Sample
}

// add appends a sample to a series. Times must increase.
func (m *memory) add(name labels.Labels, at time.Duration, value float64) {
	i := slices.IndexFunc(m.series, func(s *samples) bool { return labels.Equal(s.name, name) })
	if i < 0 {
		i = len(m.series)
		m.series = append(m.series, &samples{name: name})
	}
	m.series[i].points = append(m.series[i].points, point{at.Milliseconds(), value})
}

// Querier returns m: the engine ignores samples outside its window.
func (m *memory) Querier(int64, int64) (storage.Querier, error) { return m, nil }

// Select returns the series that match all matchers.
func (m *memory) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var found seriesSet
	for _, s := range m.series {
		if !slices.ContainsFunc(matchers, func(one *labels.Matcher) bool { return !one.Matches(s.name.Get(one.Name)) }) {
			found.left = append(found.left, storage.NewListSeries(s.name, s.points))
		}
	}
	slices.SortFunc(found.left, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return &found
}

func (m *memory) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (m *memory) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (m *memory) Close() error { return nil }

// seriesSet iterates over series.
type seriesSet struct {
	left []storage.Series
	now  storage.Series
}

func (s *seriesSet) Next() bool {
	if len(s.left) == 0 {
		return false
	}
	s.now, s.left = s.left[0], s.left[1:]
	return true
}

func (s *seriesSet) At() storage.Series                { return s.now }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// point is a value at a time.
type point struct {
	at    int64
	value float64
}

func (p point) T() int64                      { return p.at }
func (p point) F() float64                    { return p.value }
func (p point) H() *histogram.Histogram       { return nil }
func (p point) FH() *histogram.FloatHistogram { return nil }
func (p point) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (p point) ST() int64                     { return 0 }
func (p point) Copy() chunks.Sample           { return p }
