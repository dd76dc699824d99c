// Client of the HTTP API of the same server. All URLs are relative, so that the page
// works behind a proxy that adds a path prefix.

const storageKey = 'flotilla-token';

// token is kept in this tab only.
export const token = {
  get: () => sessionStorage.getItem(storageKey),
  set: (value) => sessionStorage.setItem(storageKey, value),
  forget: () => sessionStorage.removeItem(storageKey),
};

// Failure is an error response; status 0 means no response.
export class Failure extends Error {
  constructor(status, message, retryAfter) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

async function request(path, options = {}) {
  const headers = {Accept: 'application/json', ...options.headers};
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  let response;
  try {
    response = await fetch(path, {...options, headers, cache: 'no-store', credentials: 'same-origin'});
  } catch (error) {
    throw new Failure(0, `The server does not respond: ${error.message}`);
  }
  if (response.ok) return response;
  let message = `The server returned status ${response.status}.`;
  try {
    message = (await response.json()).message || message;
  } catch {
    // no body with details
  }
  throw new Failure(response.status, message, Number(response.headers.get('Retry-After')) || 0);
}

// resources returns all resources that the user may list.
export async function resources() {
  const out = [];
  let next = '';
  do {
    const query = new URLSearchParams({limit: '1000'});
    if (next) query.set('continue', next);
    const page = await (await request(`api/v1/resources?${query}`)).json();
    out.push(...page.items);
    next = page.continue || '';
  } while (next);
  return out;
}

// detail returns the details of one resource.
export async function detail(namespace, kind, name) {
  const path = ['namespaces', namespace, kind, name].map(encodeURIComponent).join('/');
  return (await request(`api/v1/${path}?limit=500`)).json();
}

const idleTimeout = 45000; // three heartbeats, in milliseconds
const longestPause = 30000;

// follow reads the events until the page is closed and resumes after interruptions. It calls
// onState('open' | 'resumed' | 'lost' | 'unavailable' | 'reset' | 'refused', message): after open
// and reset, events may have been missed; refused ends the stream.
export async function follow({onEvent, onState, signal}) {
  let last = '';
  let pause = 1000;
  while (!signal.aborted) {
    const watchdog = new AbortController();
    const stop = () => watchdog.abort();
    signal.addEventListener('abort', stop);
    try {
      const headers = {Accept: 'text/event-stream'};
      if (last) headers['Last-Event-ID'] = last;
      const response = await request('api/v1/events', {headers, signal: watchdog.signal});
      onState(last ? 'resumed' : 'open', 'Live');
      pause = 1000;
      await read(response.body, watchdog, (id, data) => {
        if (id) last = id;
        if (data) onEvent(JSON.parse(data), id);
      });
      onState('lost', 'Reconnecting');
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 401 || error.status === 403) return onState('refused', error.message);
      if (error.status === 410) {
        last = '';
        onState('reset', 'Reloading all data');
        continue;
      }
      onState(error.status === 503 ? 'unavailable' : 'lost', error.status === 503 ? error.message : 'Reconnecting');
      pause = Math.min(Math.max(pause * 2, (error.retryAfter || 0) * 1000), longestPause);
    } finally {
      signal.removeEventListener('abort', stop);
      watchdog.abort();
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

// read parses a stream of server-sent events, and fails when no data arrives in time.
async function read(body, watchdog, onBlock) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const timer = setTimeout(() => watchdog.abort(), idleTimeout);
    const {done, value} = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    rest += value;
    const blocks = rest.split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) {
      const {id, data} = parse(block);
      onBlock(id, data);
    }
  }
}

// parse parses one block: lines of "field: value"; comments begin with a colon.
export function parse(block) {
  let id = '';
  const data = [];
  for (const line of block.split('\n')) {
    const at = line.indexOf(':');
    if (at <= 0) continue;
    const field = line.slice(0, at);
    const value = line.slice(at + 1).replace(/^ /, '');
    if (field === 'id') id = value;
    if (field === 'data') data.push(value);
  }
  return {id, data: data.join('\n')};
}
