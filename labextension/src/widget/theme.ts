/** Applies a colour theme to a widget. */

const DARK = '(prefers-color-scheme: dark)';

/** Classes of editors with a dark theme. */
const DARK_HOSTS =
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
  const system = window.matchMedia(DARK);
  const follow = () => {
    const isEditor = document.querySelector('[class*="vscode-"]') !== null;
    const isDark = isEditor
      ? document.querySelector(DARK_HOSTS) !== null
      : system.matches;
    container.dataset.jpThemeLight = String(!isDark);
  };
  follow();
  system.addEventListener('change', follow);
  return () => {
    system.removeEventListener('change', follow);
  };
}
