// The state of the fleet: a list from the API, updated by events.

const items = new Map();
const listeners = new Set();

export const keyOf = (r) => `${r.object.namespace}/${r.kind}/${r.object.name}`;

export function all() {
  return [...items.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

export function replace(list) {
  items.clear();
  for (const r of list) items.set(keyOf(r), r);
  changed();
}

export const onChange = (f) => listeners.add(f);

function changed() {
  for (const f of listeners) f();
}

export const condition = (r, type) => (r.conditions || []).find((c) => c.type === type);

// resourceOf returns the resource of an event in the form of the API: the kind's token is its name in lower case.
export function resourceOf(l) {
  return {kind: l.object.kind.toLowerCase(), object: l.object};
}

// apply updates the list with one lifecycle event. Events may be duplicated, or be older than
// the list: older state is ignored.
export function apply(l) {
  const key = keyOf(resourceOf(l));
  let r = items.get(key);
  if (l.event === 'deleted') {
    if (r && r.object.uid === l.object.uid) items.delete(key);
    return changed();
  }
  if (!r || r.object.uid !== l.object.uid) {
    r = {...resourceOf(l), conditions: []};
    items.set(key, r);
  }
  if (l.conditions) l.conditions.forEach((c) => put(r, c));
  if (l.condition) put(r, l.condition.after);
  if (l.phase && l.phase.to) r.phase = l.phase.to;
  changed();
}

function put(r, c) {
  const known = condition(r, c.type);
  if (known && new Date(known.lastTransitionTime) > new Date(c.lastTransitionTime)) return;
  r.conditions = [...r.conditions.filter((k) => k.type !== c.type), c];
}

// The conditions of every resource, in display order.
export const types = ['Available', 'Progressing', 'Degraded', 'Upgradable', 'Paused', 'Stopped'];

const good = {Available: 'True', Degraded: 'False', Upgradable: 'True', Ready: 'True'};
const bad = {Available: 'False', Degraded: 'True', Ready: 'False'};

// tone returns the presentation of a condition: good, bad, unknown, busy or calm.
export function tone(c) {
  if (!c || c.status === 'Unknown') return 'unknown';
  if (bad[c.type] === c.status) return 'bad';
  if (good[c.type] === c.status) return 'good';
  return c.status === 'True' && types.includes(c.type) ? 'busy' : 'calm';
}
