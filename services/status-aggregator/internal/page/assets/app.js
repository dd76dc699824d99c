// Starts the page: authentication, views, and live updates.

import {follow, resources, token} from './api.js';
import {byId, keepTimes, setText, show} from './dom.js';
import * as feed from './feed.js';
import * as fleet from './fleet.js';
import * as resource from './resource.js';
import * as store from './store.js';
import {startTheme} from './theme.js';

const views = ['token', 'fleet', 'resource', 'events'];
let stream = null;
let visible = '';
let refused = false;

function view(name, title, focus) {
  for (const v of views) show(byId(`view-${v}`), v === name);
  for (const v of ['fleet', 'events']) {
    if (v === name) byId(`nav-${v}`).setAttribute('aria-current', 'page');
    else byId(`nav-${v}`).removeAttribute('aria-current');
  }
  document.title = `${title} – Flotilla status`;
  visible = name;
  if (focus) byId(`${name}-title`).focus();
}

// route shows the view of the URL; focus moves the keyboard focus to it.
function route(focus) {
  if (refused) return view('token', 'Sign in', focus);
  const parts = location.hash.replace(/^#\//, '').split('/').map(decode);
  resource.close();
  if (parts[0] === 'resource' && parts.length === 4) {
    view('resource', parts[3], focus);
    resource.open(parts[1], parts[2], parts[3]).catch(denied);
  } else if (parts[0] === 'events') {
    view('events', 'Events', focus);
  } else {
    view('fleet', 'Fleet', focus);
    fleet.render();
  }
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function connection(state, text) {
  byId('connection').dataset.state = state;
  setText(byId('connection-text'), text);
}

function denied(error) {
  if (error.status !== 401) return;
  refused = true;
  stream?.abort();
  setText(byId('token-error'), token.get() ? 'This token is not accepted. It may have expired.' : '');
  token.forget();
  show(byId('forget'), false);
  connection('refused', 'Not signed in');
  route(true);
}

async function load() {
  try {
    store.replace(await resources());
    setText(byId('fleet-error'), '');
  } catch (error) {
    setText(byId('fleet-error'), error.message);
    denied(error);
  }
}

function onState(state, message) {
  connection(state, state === 'unavailable' ? 'Bus unavailable: no live events' : message);
  if (state === 'refused') return denied({status: 401});
  // Events between the last list and now may have been missed.
  if (state !== 'resumed') return load();
}

function onEvent(event, sequence) {
  store.apply(event.data);
  feed.add(event, sequence);
  resource.touched(store.resourceOf(event.data));
}

function connect() {
  refused = false;
  show(byId('forget'), token.get() !== null);
  stream?.abort();
  stream = new AbortController();
  follow({onEvent, onState, signal: stream.signal});
}

// later debounces changes: a burst of events draws the table once.
function later(f) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    setTimeout(() => {
      waiting = false;
      f();
    }, 100);
  };
}

function start() {
  startTheme(byId('theme'));
  keepTimes();
  fleet.start();
  feed.start();
  store.onChange(later(() => visible === 'fleet' && fleet.render()));
  byId('token-form').addEventListener('submit', (e) => {
    e.preventDefault();
    token.set(byId('token-input').value.trim());
    byId('token-input').value = '';
    connect();
    route(true);
  });
  byId('forget').addEventListener('click', () => {
    token.forget();
    store.replace([]);
    denied({status: 401});
  });
  byId('skip').addEventListener('click', (e) => {
    e.preventDefault(); // the URL selects the view
    byId('main').focus();
  });
  addEventListener('hashchange', () => route(true));
  route(false);
  connect();
}

start();
