// Light, dark, or the system setting.

const storageKey = 'flotilla-theme';
const themes = ['system', 'light', 'dark'];

function stored() {
  const theme = localStorage.getItem(storageKey);
  return themes.includes(theme) ? theme : 'system';
}

function use(theme, button) {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  button.textContent = `Theme: ${theme}`;
}

export function startTheme(button) {
  use(stored(), button);
  button.addEventListener('click', () => {
    const next = themes[(themes.indexOf(stored()) + 1) % themes.length];
    localStorage.setItem(storageKey, next);
    use(next, button);
  });
}
