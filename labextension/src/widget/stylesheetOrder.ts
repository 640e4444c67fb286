/**
 * Orders a widget's style sheet among those of the page.
 */

/** A rule that only the sheet of `session.view()` has. */
export const VIEW_SHEET = '.plm-View-title';
/** A rule that only the sheet of `session.inspect()` has. */
export const INSPECTOR_SHEET = '.plm-InspectedCell';

/** Marks that our labextension's styles are in the page; see `style/extension.css`. */
const EXTENSION = '--plm-extension';

/**
 * Puts a widget's sheet, which has the rule `own`, before all others if our labextension is present.
 *
 * Both contain the same rules. anywidget appends its sheet, which would override the panel's own
 * exceptions from these rules in the whole page.
 */
export function deferToExtensionStyles(page: Document, own: string): void {
  const has = getComputedStyle(page.documentElement).getPropertyValue(
    EXTENSION
  );
  if (has.trim() === '') {
    return;
  }
  for (const sheet of page.querySelectorAll('style')) {
    if (
      sheet.textContent.includes(own) &&
      sheet !== page.head.firstElementChild
    ) {
      page.head.prepend(sheet);
    }
  }
}
