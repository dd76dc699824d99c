// The details of one resource.

import {detail} from './api.js';
import {byId, el, setText, table, time} from './dom.js';
import {badge} from './fleet.js';
import {draw} from './timeline.js';
import {describe} from './words.js';

let current = null;
let timer = 0;

// open shows a resource; close resets the view.
export function open(namespace, kind, name) {
  current = {namespace, kind, name};
  setText(byId('resource-title'), `${kind} ${namespace}/${name}`);
  byId('resource-body').replaceChildren(el('p', {}, 'Reading…'));
  return load();
}

export function close() {
  current = null;
}

// touched reloads the resource with a delay when an event is about it.
export function touched(r) {
  if (!current || r.kind !== current.kind || r.object.name !== current.name || r.object.namespace !== current.namespace) return;
  clearTimeout(timer);
  timer = setTimeout(load, 300);
}

async function load() {
  const wanted = current;
  if (!wanted) return;
  try {
    const d = await detail(wanted.namespace, wanted.kind, wanted.name);
    if (wanted !== current) return;
    setText(byId('resource-error'), d.incomplete || '');
    byId('resource-body').replaceChildren(...sections(d));
  } catch (error) {
    if (wanted !== current) return;
    setText(byId('resource-error'), error.message);
    if (error.status === 404) byId('resource-body').replaceChildren();
    if (error.status === 401) throw error;
  }
}

const section = (title, ...content) => el('section', {}, el('h3', {}, title), ...content);

function sections(d) {
  const o = d.observation || {};
  return [
    facts(d),
    section('Conditions', conditions(d.resource.conditions)),
    section('Timeline', draw(d.history, d.resource.conditions)),
    list('Evidence', d.provenance?.evidence),
    list('Upgrade blockers', o.upgradeBlockers),
    units(o.units),
    rows('Jobs', ['Job', 'State', 'Message'], (o.jobs || []).map((j) => [j.name, j.state, j.message || '–'])),
    rows('Dependencies', ['Dependency', 'Ready', 'Message'],
      (o.dependencies || []).map((x) => [`${x.kind} ${x.name}`, x.ready ? 'Yes' : 'No', x.message || '–'])),
    provenance(d),
    history(d),
  ].filter(Boolean);
}

function definitions(pairs) {
  return el('dl', {}, pairs.filter(([, v]) => v !== undefined && v !== null && v !== '')
    .map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

function facts(d) {
  const {resource: r, observation: o} = d;
  return definitions([
    ['Kind', r.object.kind], ['Namespace', r.object.namespace], ['Cluster', r.cluster], ['Phase', r.phase],
    ['Running version', r.deployedVersion], ['Generation', String(r.object.generation)],
    ['Requested', intent(o?.intent)], ['Updated', r.updatedAt ? time(r.updatedAt) : null],
  ]);
}

function intent(i) {
  if (!i) return null;
  const words = [i.paused && `Paused (${i.pausedBy || 'unnamed'})`, i.stopped && `Stopped (${i.stoppedBy || 'unnamed'})`];
  return words.filter(Boolean).join(', ') || null;
}

function conditions(all) {
  if (all.length === 0) return el('p', {}, 'No conditions reported yet.');
  return table('Conditions', ['Condition', 'Status', 'Reason', 'Message', 'Since'], all.map((c) => [
    c.type, badge(c, c.type), c.reason, c.message || '–', time(c.lastTransitionTime)]));
}

function list(title, items) {
  return items?.length ? section(title, el('ul', {}, items.map((x) => el('li', {}, x)))) : null;
}

function rows(title, columns, body) {
  return body.length ? section(title, table(title, columns, body)) : null;
}

function units(all = []) {
  return rows('Units', ['Unit', 'Role', 'Ready', 'Available', 'Updated', 'Failure'], all.map((u) => [
    `${u.name} (${u.kind})`,
    u.role + (u.routed ? '' : ', no traffic') + (u.present ? '' : ', absent'),
    `${u.ready} of ${u.desired}`, String(u.available), String(u.updated),
    u.failures?.length ? el('ul', {}, u.failures.map((f) => el('li', {},
      [`${f.count} × ${f.class}`, f.message, f.examples?.join(', ')].filter(Boolean).join(': ')))) : (u.stalled ? 'Stalled' : 'None'),
  ]));
}

function provenance(d) {
  const p = d.provenance;
  if (!p) return section('Provenance', el('p', {}, 'No observation yet.'));
  return section('Provenance', definitions([
    ['Observer', p.observer.name], ['Process', p.observer.instance], ['Release', p.observer.version],
    ['Epoch', new Date(p.epoch).toLocaleString()], ['Observation', String(p.seq)],
    ['Received', time(p.receivedAt)], ['Observed', d.observation ? time(d.observation.observedAt) : null],
    ['Outcome', outcome(d.observation?.reconcile)],
    ['Delayed by damping', p.held ? `${p.held.type} ${p.held.status} since ${new Date(p.held.since).toLocaleString()}, until ${new Date(p.held.until).toLocaleString()}` : null],
  ]));
}

function outcome(r) {
  return r ? [r.outcome, r.reason, r.message].filter(Boolean).join(': ') : null;
}

function history(d) {
  const newest = [...d.history].reverse();
  if (newest.length === 0) return section('History', el('p', {}, 'No events.'));
  return section('History', d.historyTruncated ? el('p', {}, 'The stream has older events.') : null,
    table('Events, the newest first', ['Event', 'Details', 'When'], newest.map((e) => [e.event, describe(e), time(e.time)])));
}
