// Live events, the newest first.

import {byId, el, show, time} from './dom.js';
import {href} from './fleet.js';
import {resourceOf} from './store.js';
import {describe} from './words.js';

const longest = 200;
let held = null; // events received while the list is paused; null if it is not

export function add(event, sequence) {
  if (held) {
    held.push([event, sequence]);
    if (held.length > longest) held.shift();
    return;
  }
  const l = event.data;
  const r = resourceOf(l);
  const list = byId('feed');
  show(byId('feed-empty'), false);
  list.prepend(el('li', {'data-sequence': sequence},
    el('span', {class: 'badge calm'}, l.event), ' ',
    el('a', {href: href(r)}, `${r.object.namespace}/${r.object.name}`), ' ',
    el('span', {class: 'muted'}, l.object.kind), ' ', time(event.time),
    el('p', {}, describe(l))));
  while (list.children.length > longest) list.lastChild.remove();
}

export function start() {
  const button = byId('feed-pause');
  button.addEventListener('click', () => {
    const before = held;
    held = held ? null : [];
    button.setAttribute('aria-pressed', String(held !== null));
    if (before) before.forEach(([event, sequence]) => add(event, sequence));
  });
}
