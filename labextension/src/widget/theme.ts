/** Applies a colour theme to a widget. */

const DARK_QUERY = '(prefers-color-scheme: dark)';

/** Classes of editors with a dark theme. */
const DARK_EDITORS =
  '.vscode-dark, .vscode-high-contrast:not(.vscode-high-contrast-light)';

/**
 * Sets colours that the page does not define.
 *
 * JupyterLab and Notebook define theirs, which are used. Elsewhere the element gets our own, dark if
 * the editor or the system is. Returns a function that stops following the system.
 */
export function applyTheme(container: HTMLElement): () => void {
  container.classList.add('plm-Widget');
  if (document.querySelector('body[data-jp-theme-name]') !== null) {
    return () => undefined;
  }
  container.classList.add('plm-Alone');
  const systemTheme = window.matchMedia(DARK_QUERY);
  const setTheme = () => {
    const isEditor = document.querySelector('[class*="vscode-"]') !== null;
    const isDark = isEditor
      ? document.querySelector(DARK_EDITORS) !== null
      : systemTheme.matches;
    container.dataset.jpThemeLight = String(!isDark);
  };
  setTheme();
  systemTheme.addEventListener('change', setTheme);
  return () => {
    systemTheme.removeEventListener('change', setTheme);
  };
}
