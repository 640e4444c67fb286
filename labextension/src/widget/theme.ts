/**
 * The colours of the page that a widget stands in.
 */

const DARK = '(prefers-color-scheme: dark)';

/** Classes of editors that say that they are dark. */
const DARK_HOSTS =
  '.vscode-dark, .vscode-high-contrast:not(.vscode-high-contrast-light)';

/**
 * Gives a place the colours that its page does not have.
 *
 * JupyterLab and Notebook define theirs, and those are followed. Elsewhere the place gets our own,
 * dark where the editor or the system says so. Returns how to stop following the system.
 */
export function applyTheme(place: HTMLElement): () => void {
  place.classList.add('plm-Widget');
  if (document.querySelector('body[data-jp-theme-name]') !== null) {
    return () => undefined;
  }
  place.classList.add('plm-Alone');
  const system = window.matchMedia(DARK);
  const follow = () => {
    const isEditor = document.querySelector('[class*="vscode-"]') !== null;
    const isDark = isEditor
      ? document.querySelector(DARK_HOSTS) !== null
      : system.matches;
    place.dataset.jpThemeLight = String(!isDark);
  };
  follow();
  system.addEventListener('change', follow);
  return () => {
    system.removeEventListener('change', follow);
  };
}
