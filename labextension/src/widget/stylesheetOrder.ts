/**
 * The place of the view's style sheet among those of the page.
 */

/** A rule that no sheet but the view's has. */
const OWN = '.plm-View-title';

/** Says that the style of our extension is in the page; see `style/extension.css`. */
const EXTENSION = '--plm-extension';

/**
 * Puts the view's sheet before all others where our own extension is.
 *
 * Both have the same rules. anywidget appends its sheet, so that the panel's exceptions from a rule,
 * which are written behind it, would be overruled in the whole page.
 */
export function deferToExtensionStyles(page: Document): void {
  const has = getComputedStyle(page.documentElement).getPropertyValue(
    EXTENSION
  );
  if (has.trim() === '') {
    return;
  }
  for (const sheet of page.querySelectorAll('style')) {
    if (
      sheet.textContent.includes(OWN) &&
      sheet !== page.head.firstElementChild
    ) {
      page.head.prepend(sheet);
    }
  }
}
