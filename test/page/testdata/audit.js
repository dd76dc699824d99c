// Returns what is wrong with the page for those who do not see it well, or use no mouse.
(() => {
  const problems = [];
  const report = (node, text) => problems.push(`${text}: ${node.outerHTML.slice(0, 120)}`);
  const visible = (n) => n.getClientRects().length > 0 && getComputedStyle(n).visibility === 'visible';
  const all = (selector) => [...document.querySelectorAll(selector)].filter(visible);

  // The document.
  if (!document.documentElement.lang) problems.push('no language');
  if (!document.title.trim()) problems.push('no title');
  if (all('h1').length !== 1) problems.push(`${all('h1').length} first headings`);
  for (const landmark of ['header', 'nav', 'main', 'footer']) {
    if (all(landmark).length === 0) problems.push(`no ${landmark}`);
  }
  const levels = all('h1,h2,h3,h4').map((h) => Number(h.tagName[1]));
  levels.forEach((level, i) => i > 0 && level > levels[i - 1] + 1 && problems.push(`heading ${level} follows ${levels[i - 1]}`));
  const ids = [...document.querySelectorAll('[id]')].map((n) => n.id);
  ids.forEach((id, i) => ids.indexOf(id) !== i && problems.push(`id ${id} stands twice`));
  for (const n of document.querySelectorAll('[aria-labelledby],[for]')) {
    const id = n.getAttribute('aria-labelledby') || n.getAttribute('for');
    if (!document.getElementById(id)) report(n, 'names what is not there');
  }

  // Names and order.
  for (const n of all('a,button,input,select')) {
    const label = n.labels?.[0]?.textContent || n.getAttribute('aria-label') || (n.matches('input') ? '' : n.textContent);
    if (!label.trim()) report(n, 'no name');
    if (n.tabIndex !== 0) report(n, 'out of the order of focus');
    const box = n.getBoundingClientRect();
    if (!n.matches('a') && box.height < 24) report(n, `only ${box.height} high`);
  }
  for (const n of document.querySelectorAll('[tabindex]')) if (n.tabIndex > 0) report(n, 'changes the order of focus');
  for (const n of all('section')) {
    if (!n.getAttribute('aria-labelledby') && !n.querySelector('h2,h3')) report(n, 'no heading');
  }
  for (const n of all('[role=img],img,svg')) if (!n.getAttribute('aria-label') && !n.getAttribute('alt')) report(n, 'a picture without words');
  for (const n of all('li')) if (n.parentElement.getAttribute('role')) report(n, 'in a list that is none');
  for (const n of document.querySelectorAll('[onclick],[style*="javascript"]')) report(n, 'inline script');

  // Tables.
  for (const t of all('table')) {
    if (!t.caption?.textContent) report(t, 'no caption');
    for (const th of t.querySelectorAll('th')) if (!th.scope || !th.textContent.trim()) report(th, 'a heading without scope or text');
    const width = t.tHead.rows[0].cells.length;
    for (const row of t.tBodies[0].rows) {
      if (row.cells.length !== width) report(row, `${row.cells.length} cells under ${width} headings`);
      if (row.getAttribute('role') !== 'row') report(row, 'no role');
    }
  }

  // Contrast, WCAG 2.2 AA: 4.5 for text, 3 for large text.
  const rgb = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ground = (n) => {
    for (; n; n = n.parentElement) {
      const c = rgb(getComputedStyle(n).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  // What is clipped away is there for screen readers.
  const forEars = (n) => n && (getComputedStyle(n).clipPath === 'inset(50%)' || forEars(n.parentElement));
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  while (walker.nextNode()) {
    const n = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !visible(n) || forEars(n) || n.closest('noscript,script')) continue;
    texts++;
    const range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    const {width, height} = range.getBoundingClientRect();
    if (height > 3 * width && width > 0) report(n, 'squeezed');
    const style = getComputedStyle(n);
    const [a, b] = [light(rgb(style.color)), light(ground(n))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) report(n, `contrast ${ratio.toFixed(2)}`);
    if (size < 12) report(n, `text of ${size}px`);
  }
  if (texts < 10) problems.push(`only ${texts} texts were looked at`);

  // Width.
  const scroll = document.documentElement.scrollWidth;
  if (scroll > document.documentElement.clientWidth) problems.push(`${scroll} px wide on ${document.documentElement.clientWidth}`);
  return problems;
})()
