package query

import (
	"math"
	"strconv"
	"strings"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// Statement is SQL text with its arguments.
type Statement struct {
	SQL  string
	Args []any
}

// Selective is the maximum number of objects of a label that drives a plan. Each costs a random
// read of a wide row; with more objects, a scan of the order's index reads less.
const Selective = 1000

// countable is the maximum number of remaining objects that is counted.
const countable = 1000

// Probes returns statements that count, up to a bound, the matches of each label of the request.
// Pass the counts to Choose. A plan without probes has only one form.
func (p *Plan) Probes() []Statement {
	var out []Statement
	for _, l := range p.labels {
		if l.absent {
			continue
		}
		c := l.condition("l")
		t := (&text{}).add("SELECT COUNT(*) FROM (SELECT 1 FROM " + p.labelsTable() + " l WHERE ").addClause(c)
		t.add(" LIMIT ?) matches", Selective+1)
		out = append(out, Statement{t.b.String(), t.args})
	}
	return out
}

// Choose sets the form of the plan from the counts of the probes: a label that matches at most
// selective objects drives it.
func (p *Plan) Choose(counts []int, selective int) {
	p.driver = plain
	if len(counts) == 0 {
		return
	}
	best, n := -1, 0
	for i, l := range p.labels {
		if l.absent {
			continue
		}
		if best < 0 || counts[n] < best {
			best, p.driver = counts[n], i
		}
		n++
	}
	if best > selective && p.orderIndex() != "" {
		p.driver = inOrder
	}
}

// Page returns the statement that reads a page, and one more row if there is a limit. Its columns
// are the content as JSON, the number of all matches for [Plan.Remaining] or NULL, then the sort values.
func (p *Plan) Page() Statement {
	maxRows := p.limit
	if maxRows > 0 {
		maxRows++
	}
	columns, matches := p.jsonColumn("x"), ""
	if p.countsMatches() {
		columns.sql += ", p.matches"
		matches = ", COUNT(*) OVER () AS matches"
	} else {
		columns.sql += ", NULL"
	}
	return p.read(columns, maxRows, matches)
}

// countsMatches reports whether a page counts all matches: those of a label are all read, to be sorted.
func (p *Plan) countsMatches() bool { return p.driver >= 0 && p.after == nil }

// Remaining returns the number of rows after a page of given rows.
func (p *Plan) Remaining(matches, returned int64) int64 { return matches - p.offset - returned }

// Rows returns the statement that reads the identity of the next rows, at most that many: uid,
// namespace, name, incarnation and res_version, then the sort values.
func (p *Plan) Rows(maxRows int64) Statement {
	return p.read(clause{"x.uid, x.namespace, x.name, x.incarnation, x.res_version", nil}, maxRows, "")
}

// read finds rows, with more columns, then reads columns of them.
func (p *Plan) read(columns clause, maxRows int64, more string) Statement {
	var values, order []string
	for i, k := range p.keys {
		value := "p.k" + strconv.Itoa(i)
		values = append(values, value)
		if k.desc {
			value += " DESC"
		}
		order = append(order, value)
	}
	t := (&text{}).add("SELECT ").addClause(columns).add(", " + strings.Join(values, ", ") + " FROM (")
	p.addMatches(t, maxRows, p.offset, true, more)
	t.add(") p STRAIGHT_JOIN " + p.table() + " x ON x.uid = p.uid ORDER BY " + strings.Join(order, ", "))
	return Statement{t.b.String(), t.args}
}

// Matching returns the statement that reads which of these uids match the request, at any
// position in its order.
func (p *Plan) Matching(uids []string) Statement {
	t := (&text{}).add("SELECT t.uid FROM " + p.table() + " t FORCE INDEX (PRIMARY) WHERE t.uid IN (" + marks(len(uids)) + ") AND ")
	for _, uid := range uids {
		t.args = append(t.args, uid)
	}
	p.filter(t, p.labels)
	return Statement{t.b.String(), t.args}
}

// Count returns the statement that counts the rows after the page, up to the bound of [Counted];
// ok is false if counting would cost more than the page itself, or the page has counted them.
func (p *Plan) Count(returned int64) (s Statement, ok bool) {
	if p.driver != plain || p.after != nil {
		return Statement{}, false
	}
	t := (&text{}).add("SELECT COUNT(*) FROM (")
	p.addMatches(t, countable+1, p.offset+returned, false, "")
	t.add(") remaining")
	return Statement{t.b.String(), t.args}, true
}

// Counted reports whether a result of Count is exact.
func Counted(n int64) bool { return n <= countable }

// addMatches renders the selected rows by uid and sort values k0, k1, ..., at most that many; 0 means all.
// more is text for more columns.
func (p *Plan) addMatches(t *text, maxRows, offset int64, ordered bool, more string) {
	alias := main
	if p.driver == inOrder {
		alias = "c"
	}
	t.add("SELECT " + alias + ".uid")
	for i, k := range p.keys {
		t.add(", " + k.sql(alias) + " AS k" + strconv.Itoa(i))
	}
	t.add(more)
	var others []label
	switch {
	case p.driver == inOrder:
		others = p.fromOrder(t)
	case p.driver >= 0:
		others = p.fromLabel(t)
	default:
		t.add(" FROM " + p.table() + " t " + p.hint() + " WHERE ")
		others = p.labels
	}
	p.filter(t, others)
	if p.after != nil {
		t.add(" AND ").addClause(afterValues(p.keys, p.after, alias))
	}
	if ordered {
		t.add(" ORDER BY " + orderBy(p.keys, alias))
	}
	if maxRows == 0 {
		maxRows = math.MaxInt64 // MariaDB drops an order without a limit from a derived table, and an offset needs one
	}
	t.add(" LIMIT ? OFFSET ?", maxRows, offset)
}

// hint returns the index hint of a plan that no label drives. The server chooses among the indexes of fields, but not among
// those of the delete time and of the creation alone: others have the live rows in the same order.
func (p *Plan) hint() string {
	if index := p.orderIndex(); p.fields == 0 && (index == liveIndex || index == liveNamespaceIndex) {
		return "FORCE INDEX (" + index + ")"
	}
	return "IGNORE INDEX (idx_delete_time, idx_create_time)"
}

// filter renders the conditions on a row, with the given labels.
func (p *Plan) filter(t *text, labels []label) {
	t.add("t.delete_time IS NULL")
	for _, c := range p.where {
		t.add(" AND ").addClause(c)
	}
	for _, l := range labels {
		t.add(" AND ").addClause(l.exists(p.labelsTable(), "t.uid"))
	}
}

// fromOrder scans the index of the order and reads labels before it reads a row. It returns the
// labels that are still to be checked.
func (p *Plan) fromOrder(t *text) (others []label) {
	index := p.orderIndex()
	t.add(" FROM " + p.table() + " c FORCE INDEX (" + schema.Quote(index) + ")")
	for i, l := range p.labels {
		if l.absent {
			others = append(others, l)
			continue
		}
		alias := "l" + strconv.Itoa(i)
		t.add(" STRAIGHT_JOIN " + p.labelsTable() + " " + alias + " FORCE INDEX (idx_obj_uid_key) ON " + alias + ".obj_uid = c.uid AND ")
		t.addClause(l.condition(alias))
	}
	t.add(" STRAIGHT_JOIN " + p.table() + " t ON t.uid = c.uid WHERE ")
	if index == liveNamespaceIndex || index == namespaceIndex && p.namespace != "" {
		t.add("c.namespace = ? AND ", p.namespace)
	}
	if index == liveNamespaceIndex || index == liveIndex {
		t.add("c.delete_time IS NULL AND ")
	}
	return others
}

// fromLabel starts from the rows of a label. An object has a key once, so no row occurs twice.
func (p *Plan) fromLabel(t *text) (others []label) {
	t.add(" FROM " + p.labelsTable() + " d FORCE INDEX (idx_key_value) STRAIGHT_JOIN " + p.table() + " t ON t.uid = d.obj_uid WHERE ")
	t.addClause(p.labels[p.driver].condition("d")).add(" AND ")
	others = append(others, p.labels[:p.driver]...)
	return append(others, p.labels[p.driver+1:]...)
}

func (p *Plan) table() string       { return schema.Quote(p.kind.Table) }
func (p *Plan) labelsTable() string { return schema.Quote(p.kind.LabelsTable()) }

// Sorted returns the number of sort values of a row.
func (p *Plan) Sorted() int { return len(p.keys) }

// Expected returns the number of rows after the start position, from the token; nil if unknown.
func (p *Plan) Expected() *int64 { return p.remaining }

// Token returns the continue token of the position after a row with these sort values.
func (p *Plan) Token(after []any, remaining *int64) (string, error) {
	return token{Version: tokenVersion, Request: p.fingerprint(), After: encodeSorted(after), Remaining: remaining}.encode()
}

// After makes the plan start after the row with these sort values.
func (p *Plan) After(values []any) { p.after, p.offset = values, 0 }
