// The overview: the number of resources in each state, and the list.

import {byId, el, show, setText, table, time} from './dom.js';
import {all, condition, keyOf, tone, types} from './store.js';

const pageSize = 200;
let shown = pageSize;

// groups are the counted states, each a predicate of a resource.
const groups = [
  ['All', () => true],
  ['Degraded', (r) => is(r, 'Degraded', 'True')],
  ['Not available', (r) => is(r, 'Available', 'False')],
  ['Unknown', (r) => r.conditions.some((c) => c.status === 'Unknown') || !condition(r, 'Available')],
  ['Progressing', (r) => is(r, 'Progressing', 'True')],
  ['Available', (r) => is(r, 'Available', 'True')],
  ['Upgradable', (r) => is(r, 'Upgradable', 'True')],
  ['Paused', (r) => is(r, 'Paused', 'True')],
  ['Stopped', (r) => is(r, 'Stopped', 'True')],
];

const is = (r, type, status) => condition(r, type)?.status === status;

export const href = (r) =>
  '#/resource/' + [r.object.namespace, r.kind, r.object.name].map(encodeURIComponent).join('/');

// badge shows a condition by text, and additionally by color.
export function badge(c, type) {
  const status = c ? c.status : 'not said';
  return el('span', {class: `badge ${c ? tone(c) : 'calm'}`, title: c ? c.reason : null},
    el('span', {class: 'visually-hidden'}, `${type}: `), status);
}

function chosen() {
  return {
    text: byId('filter-text').value.trim().toLowerCase(),
    namespace: byId('filter-namespace').value,
    kind: byId('filter-kind').value,
    group: byId('filter-condition').value || 'All',
  };
}

function matches(r, f) {
  const words = [r.object.name, r.object.namespace, r.object.kind, r.phase, r.deployedVersion,
    ...r.conditions.flatMap((c) => [c.reason, c.message])].join(' ').toLowerCase();
  return (!f.namespace || r.object.namespace === f.namespace)
    && (!f.kind || r.kind === f.kind)
    && (!f.text || words.includes(f.text));
}

// since returns when a condition of the resource last changed.
function since(r) {
  return r.conditions.map((c) => c.lastTransitionTime).sort().pop();
}

export function render() {
  const f = chosen();
  const list = all();
  fill(byId('filter-namespace'), 'All namespaces', new Set(list.map((r) => r.object.namespace)));
  fill(byId('filter-kind'), 'All kinds', new Map(list.map((r) => [r.kind, r.object.kind])));
  fill(byId('filter-condition'), null, new Set(groups.map(([name]) => name)));
  const near = list.filter((r) => matches(r, f));
  counts(near, f.group);
  const rows = near.filter(groups.find(([name]) => name === f.group)[1]);
  setText(byId('fleet-summary'), `${rows.length} of ${list.length} resources`);
  const focused = document.activeElement?.getAttribute('href');
  const columns = ['Resource', 'Kind', 'Phase', 'Available', 'Progressing', 'Degraded', 'Last change'];
  byId('fleet-table').replaceChildren(rows.length === 0 ? el('p', {}, 'No resource matches.') : table(
    'Resources', columns, rows.slice(0, shown).map(row)));
  show(byId('fleet-more'), rows.length > shown);
  // A new table must not move the keyboard focus.
  if (focused) document.querySelector(`#fleet-table a[href="${CSS.escape(focused)}"]`)?.focus();
}

function row(r) {
  const name = [el('a', {href: href(r), 'data-key': keyOf(r)}, r.object.name), ' ',
    el('span', {class: 'muted'}, r.object.namespace)];
  const intents = types.slice(4).filter((t) => is(r, t, 'True')).map((t) => el('span', {class: 'badge busy'}, t));
  return [name, r.object.kind, [r.phase || '–', ' ', intents],
    ...types.slice(0, 3).map((t) => badge(condition(r, t), t)), since(r) ? time(since(r)) : '–'];
}

function counts(list, group) {
  const box = byId('counts');
  if (box.children.length === 0) {
    box.append(...groups.map(([name]) => el('li', {}, el('button', {
      type: 'button', 'data-group': name, onclick: () => choose(name),
    }, el('span', {class: 'number'}), ' ', name))));
  }
  groups.forEach(([name, test], i) => {
    const button = box.children[i].firstChild;
    const n = list.filter(test).length;
    setText(button.firstChild, String(n));
    button.setAttribute('aria-pressed', String(name === group));
    button.dataset.alarm = String(n > 0 && ['Degraded', 'Not available', 'Unknown'].includes(name));
  });
}

function choose(group) {
  byId('filter-condition').value = group;
  restart();
}

// fill keeps the selection when the options change.
function fill(select, everything, values) {
  const pairs = [...(values instanceof Map ? values : new Map([...values].map((v) => [v, v])))];
  if (everything) pairs.sort();
  const options = [...(everything ? [['', everything]] : []), ...pairs];
  const same = options.length === select.options.length && options.every(([v], i) => select.options[i].value === v);
  if (same) return;
  const before = select.value;
  select.replaceChildren(...options.map(([value, label]) => el('option', {value}, label)));
  if (options.some(([v]) => v === before)) select.value = before;
}

function restart() {
  shown = pageSize;
  render();
}

export function start() {
  const filters = byId('filters');
  filters.addEventListener('input', restart);
  filters.addEventListener('submit', (e) => e.preventDefault());
  filters.addEventListener('reset', () => setTimeout(restart));
  byId('fleet-more').addEventListener('click', () => {
    shown += pageSize;
    render();
  });
}
