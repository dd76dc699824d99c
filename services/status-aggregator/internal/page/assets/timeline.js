// Draws the changes of the conditions of one resource, from its history.

import {el} from './dom.js';
import {tone, types} from './store.js';

// tracks converts events, oldest first, to segments: {type, from, to, condition, gap}. It
// is a pure function.
export function tracks(events, current, now) {
  const open = new Map();
  const segments = [];
  const close = (type, at) => {
    const s = open.get(type);
    if (s && at > s.from) segments.push({...s, to: at});
    open.delete(type);
  };
  const begin = (c, from, gap) => {
    close(c.type, from);
    open.set(c.type, {type: c.type, from, condition: c, gap});
  };
  for (const e of events) {
    const at = new Date(e.time);
    if (e.event === 'deleted') for (const type of [...open.keys()]) close(type, at);
    for (const c of e.conditions || []) begin(c, e.gap ? at : new Date(c.lastTransitionTime), e.gap);
    if (!e.condition) continue;
    const {before, after} = e.condition;
    if (before && !open.has(before.type)) begin(before, new Date(before.lastTransitionTime), false);
    begin(after, new Date(after.lastTransitionTime), Boolean(e.gap));
  }
  for (const c of current) {
    const s = open.get(c.type);
    if (!s || s.condition.status !== c.status) begin(c, new Date(c.lastTransitionTime), false);
  }
  for (const type of [...open.keys()]) close(type, now);
  return types.map((type) => ({type, segments: segments.filter((s) => s.type === type)})).filter((t) => t.segments.length > 0);
}

const percent = (at, begin, end) => (100 * (at - begin)) / Math.max(1, end - begin);

// draw creates the picture. Screen readers get a summary in text, and all details from
// the table of the history.
export function draw(events, current, now = new Date()) {
  const list = tracks(events, current, now);
  if (list.length === 0) return el('p', {}, 'No history yet.');
  const first = events.length > 0 ? new Date(events[0].time) : now;
  const starts = list.flatMap((t) => t.segments.map((s) => s.from)).filter((d) => d >= first || events.length === 0);
  const begin = new Date(Math.min(first, ...starts, now - 60000));
  const words = list.map((t) => `${t.type} was ${t.segments.map((s) => s.condition.status).join(', then ')}`).join('. ');
  return el('figure', {class: 'timeline'},
    el('figcaption', {}, `Conditions from ${begin.toLocaleString()} until now`),
    el('div', {role: 'img', 'aria-label': `Timeline. ${words}.`}, list.map((t) => track(t, begin, now))),
    el('p', {class: 'ends', 'aria-hidden': 'true'}, el('span', {}, begin.toLocaleString()), el('span', {}, 'now')));
}

function track(t, begin, end) {
  const bar = el('div', {class: 'bar'}, t.segments.filter((s) => s.to > begin).map((s) => {
    const left = Math.max(0, percent(s.from, begin, end));
    const node = el('span', {
      class: `segment ${tone(s.condition)}${s.gap ? ' gap' : ''}`,
      title: `${t.type} ${s.condition.status} (${s.condition.reason}) from ${s.from.toLocaleString()} to ${s.to.toLocaleString()}`,
    }, s.condition.status);
    node.style.left = `${left}%`;
    node.style.width = `${Math.max(0.3, percent(s.to, begin, end) - left)}%`;
    return node;
  }));
  return el('div', {class: 'track'}, el('span', {class: 'name'}, t.type), bar);
}
