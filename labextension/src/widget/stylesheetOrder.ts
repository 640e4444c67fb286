/**
 * Orders the view's style sheet among those of the page.
 */

/** A rule that only the view's sheet has. */
const OWN = '.plm-View-title';

/** Marks that our labextension's styles are in the page; see `style/extension.css`. */
const EXTENSION = '--plm-extension';

/**
 * Puts the view's sheet before all others if our labextension is present.
 *
 * Both contain the same rules. anywidget appends its sheet, which would override the panel's own
 * exceptions from these rules in the whole page.
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
