// Creates elements. Foreign text becomes text nodes and attribute values, never markup.

// el creates an element: el('a', {href: '#/', class: 'x', onclick: f}, 'text', child, null).
// Attributes that are null, undefined or false are omitted; true is an empty attribute.
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

export const byId = (id) => document.getElementById(id);

export function show(node, visible) {
  node.hidden = !visible;
}

// setText changes a node only when its text changes, so that screen readers do not announce it twice.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// table creates a table that remains a table for assistive technology when its rows become cards on
// a narrow screen; roles are explicit because a changed display would remove them.
export function table(caption, columns, rows) {
  const head = el('tr', {role: 'row'}, columns.map((c) => el('th', {scope: 'col', role: 'columnheader'}, c)));
  const body = rows.map((cells) => el('tr', {role: 'row'}, cells.map((cell, i) => i === 0
    ? el('th', {scope: 'row', role: 'rowheader', 'data-label': columns[i]}, el('div', {}, cell))
    : el('td', {role: 'cell', 'data-label': columns[i]}, el('div', {}, cell)))));
  return el('table', {role: 'table'},
    el('caption', {class: 'visually-hidden'}, caption), // there is a heading above, but a table needs its own name
    el('thead', {role: 'rowgroup'}, head),
    el('tbody', {role: 'rowgroup'}, body));
}

const units = [['day', 86400], ['hour', 3600], ['minute', 60], ['second', 1]];
const relative = new Intl.RelativeTimeFormat('en', {numeric: 'auto'});

export function ago(date, now = new Date()) {
  const seconds = Math.round((date - now) / 1000);
  for (const [unit, size] of units) {
    if (Math.abs(seconds) >= size || size === 1) return relative.format(Math.trunc(seconds / size), unit);
  }
  return '';
}

// time shows a time relative to now; the exact time is in the title and the datetime attribute.
export function time(text) {
  const date = new Date(text);
  if (!text || Number.isNaN(date.getTime())) return el('span', {}, 'unknown');
  return el('time', {datetime: date.toISOString(), title: date.toLocaleString()}, ago(date));
}

// keepTimes updates all relative times periodically.
export function keepTimes() {
  setInterval(() => {
    for (const node of document.querySelectorAll('time[datetime]')) setText(node, ago(new Date(node.dateTime)));
  }, 15000);
}
